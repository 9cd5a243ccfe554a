"""One system under several principles: `compare` is the verb, `coincidence` finds vakonomic motions that other principles share."""

"""Print a suggested fix as options of the command line."""

from __future__ import annotations

from shlex import quote

from chetaev.core.fixes import Ask, ChooseBranch, ChooseGauge, Fix, Guess, SetInitial, SetInput, SetParameter, UsePrinciple


def on_the_command_line(fix: Fix, model: str = "MODEL") -> str:
    """Return `fix` as options; `model` is the argument MODEL. Empty for a fix that has no option.

    >>> on_the_command_line(ChooseGauge((("q2", "sin(t)"),), "simulate"))
    '--gauge "q2 = sin(t)"'
    """
    match fix:
        case SetParameter(names):
            return " ".join(f"--set {name}=..." for name in names)
        case SetInput(names, example):
            return " ".join(f'--set "{name} = {example or "..."}"' for name in names)
        case SetInitial(names):
            return " ".join(f'--set "{name} = ..."' for name in names)
        case Guess():  # there is no option for guesses
            from chetaev.io.fixes import in_the_file

            return f"in the file, {in_the_file(fix)}"
        case UsePrinciple(principle):
            from chetaev.core.support.registry import words_of

            words = words_of(principle)
            return f"--principle {words}" if words == principle.word else f'--principle "{words}"'
        case ChooseBranch(number):
            return f"--branch {number}"
        case ChooseGauge(functions):
            return " ".join(f'--gauge "{name} = {text}"' for name, text in functions)
        case Ask(verb):
            return f"chetaev {verb} {quote(model)}"
    return ""

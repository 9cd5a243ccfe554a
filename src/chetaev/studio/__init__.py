"""The studio: a page in the browser in which one writes a system, reads its equations and plays with its motion.

page         the page itself, from the files of web/, with its policy
desk         what is answered to which request, whichever way it comes
server       requests over HTTP, on this machine only: who may ask, statuses
widget       requests through the messages of a notebook
folder       the files that the page may open and save
jobs         requests as jobs that can be ended, and the processes that compute them
fork_server  the process that forks a process for each job, everything imported
answers      what is computed for a request
request      what a request asks for
live         the page of a motion with sliders
sweeping     a quantity over a parameter
faults       errors as the page receives them
positions    where in the text an error lies
notebook     `ch.studio(model)`: the studio in a notebook or a window of the browser
"""

from __future__ import annotations

from chetaev.core.support.lazy import make_callable
from chetaev.studio.notebook import Window, studio

__all__ = ["Window", "studio"]

make_callable(__name__, studio)

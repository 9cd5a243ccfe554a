"""The studio: a page in the browser to write a system, read its equations and explore its motion.

page         the page, from the files of web/, with its content security policy
dispatch     routes requests to their answers, independent of the transport
server       requests over HTTP, from this machine only: access control, statuses
folder       the files that the page may open and save
jobs         requests as jobs that can be cancelled, and the processes that compute them
fork_server  the process that forks a process for each job, with everything imported
answers      computes the answers to requests about a model
request      the fields of a request
live         the page of a motion with sliders
faults       errors as data for the page
notebook     `ch.studio(model)`: the studio in a notebook or a window of the browser, and requests as messages of a notebook
"""

from __future__ import annotations

from chetaev.core.support.lazy import make_callable
from chetaev.studio.notebook import Window, studio

__all__ = ["Window", "studio"]

make_callable(__name__, studio)

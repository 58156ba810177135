"""Tasks over processes or threads of this machine. How many there are changes no result: a task is a function of its argument.

Not here: workers of other machines (cluster.py), what they must know of the spec (emu/spec/carried.py).
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import closing
from typing import TypeVar

from emu.base.forks import end_with

Task = TypeVar("Task")
Result = TypeVar("Result")
Done = Generator[tuple[int, Result], None, None]  # (index of a task, its result)


def done_by_processes(function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> Done[Result]:
    """Yield (index of a task, its result) as they are done; one process does them in order.

    function: of a module, not a closure.   jobs: processes of this machine, forked: they know what this one has loaded.
    Raises: what the function raises; tasks that have not begun are then left.
    """
    if jobs == 1 or len(tasks) < 2:
        yield from enumerate(map(function, tasks))
        return
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),))
    try:
        places = {pool.submit(function, task): place for place, task in enumerate(tasks)}
        for future in as_completed(places):
            yield places.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(found: Done[Result]) -> Generator[Result, None, None]:
    """Yield results in the order of their tasks, each as soon as those before it are there."""
    waiting: dict[int, Result] = {}
    place = 0
    with closing(found):
        for index, result in found:
            waiting[index] = result
            while place in waiting:
                yield waiting.pop(place)
                place += 1


def in_order_by_threads(function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """Yield the result of each task, in their order; one thread does them as they are asked for.

    function: may be a closure; what it does at length lets other threads run.   jobs: threads; so many tasks and results are held at most.
    Raises: what the function raises for the first task that fails, after the results before it; tasks that have not begun are then left.
    """
    if jobs == 1:
        yield from map(function, tasks)
        return
    begun: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(jobs)
    try:
        for task in tasks:
            if len(begun) == jobs:
                yield begun.popleft().result()
            begun.append(pool.submit(function, task))
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

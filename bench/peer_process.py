"""A process of its own for each library that is compared: it is ended where it takes too long or fails."""

import math
import multiprocessing
import time

START = 30  # seconds to start, to import libraries and to make the data


def serve(pipe, start, *arguments):
    """start(*arguments) returns the function that answers the tasks, with a dict. Runs in the process."""
    try:
        answer = start(*arguments)
    except Exception as error:  # a library that is missing is a line of the table
        problem = words_of(error)

        def answer(*task):
            return {"error": problem}

    while True:
        task = pipe.recv()
        try:
            result = answer(*task)
        except Exception as error:  # what a peer throws is a line of the table
            result = {"error": words_of(error)}
        pipe.send(result)


def words_of(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


class Peer:
    """The process, which starts with the first task and ends at `end` of time.monotonic(), where that is given."""

    def __init__(self, start, *arguments, end=math.inf):
        self.arguments, self.end, self.process = (start, *arguments), end, None

    def run(self, task, limit):
        """The answer to a task, or {"error": words}. `limit`: seconds."""
        if time.monotonic() >= self.end:
            self.close()
            return {"error": "no time"}
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=serve, args=(other, *self.arguments), daemon=True)
            self.process.start()
            other.close()  # so that the end of the process is seen
            limit += START
        limit = min(limit, max(0, self.end - time.monotonic()))
        try:
            self.pipe.send(task)
            if self.pipe.poll(limit):
                return self.pipe.recv()
            problem = f"stopped after {limit:.0f} s"
        except (EOFError, OSError):
            self.process.join(5)
            problem = f"the process ended with {self.process.exitcode}"
        self.close()
        return {"error": problem}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

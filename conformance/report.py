"""Counts the steps of one client's run and prints one line for each that fails."""
import contextlib, sys, traceback


class Report:
    """Steps run one after the other; a failed step does not stop the next."""

    def __init__(self, client, version):
        self.name, self.passed, self.failed = f"{client} {version}", 0, 0

    @contextlib.contextmanager
    def step(self, name):
        """Counts the block as passed unless it raises."""
        try:
            yield
            self.passed += 1
        except Exception as error:  # a failed step is the result we report
            self.failed += 1
            at = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAIL {name}: {type(error).__name__}: {str(error)[:400]} ({at.filename.split('/')[-1]}:{at.lineno})")

    @contextlib.asynccontextmanager
    async def astep(self, name):
        """`step` for asynchronous blocks."""
        with self.step(name):
            yield

    def finish(self):
        """Prints the totals and ends the process, with 1 when a step failed."""
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)

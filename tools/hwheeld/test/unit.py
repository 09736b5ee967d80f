# SPDX-License-Identifier: GPL-2.0-only
"""Python's unit tests as TAP."""
import sys
import unittest


class TapResult(unittest.TestResult):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def report(self, word, test, detail=""):
        name = test.id().split(".", 1)[-1].replace("test_", "").replace("_", " ")
        print(f"{word} {self.testsRun} - {self.part}: {name}")
        for line in detail.splitlines():
            print(f"# {line}")

    def addSuccess(self, test):
        self.report("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.report("not ok", test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.report("not ok", test, self.errors[-1][1])


def main(part):
    """Runs all tests of the program, and returns its status."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print("TAP version 13")
    print(f"1..{tests.countTestCases()}")
    result = TapResult(part)
    tests.run(result)
    return 0 if result.wasSuccessful() else 1

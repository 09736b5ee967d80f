// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs the classes that its arguments name, and prints a test point for each of their tests. */
public final class TapRunner implements TestExecutionListener {
    private int points;
    private int failures;
    private long since;

    private TapRunner() {
    }

    /** Exits with 1 if a test has failed, or there was none. */
    public static void main(String[] names) throws Exception {
        TapRunner runner = new TapRunner();
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
        for (String name : names) {
            request.selectors(selectClass(Class.forName(name)));
        }
        System.exit(runner.run(request.build()) ? 0 : 1);
    }

    private boolean run(LauncherDiscoveryRequest request) {
        System.out.println("TAP version 13");
        LauncherFactory.create().execute(request, this);
        System.out.println("1.." + points);
        return failures == 0 && points > 0;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        since = System.nanoTime();
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        point("ok", test, " # SKIP " + reason);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        boolean failed = result.getStatus() == TestExecutionResult.Status.FAILED;
        if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
            String why = result.getThrowable().map(Throwable::getMessage).orElse("");
            point("ok", test, " # SKIP " + why);
        } else if (test.isTest() || failed) {
            result.getThrowable().ifPresent(TapRunner::explain);
            point(failed ? "not ok" : "ok", test, "");
            System.out.println("# in " + (System.nanoTime() - since) / 1000000 + " ms");
            failures += failed ? 1 : 0;
        }
    }

    private static void explain(Throwable e) {
        System.out.println("# " + e);
        for (StackTraceElement frame : e.getStackTrace()) {
            if (frame.getClassName().startsWith("io.hwheel")) {
                System.out.println("#   at " + frame);
            }
        }
    }

    private void point(String verdict, TestIdentifier test, String remark) {
        points++;
        System.out.println(verdict + " " + points + " - " + test.getDisplayName().replace("()", "")
                + remark);
    }
}

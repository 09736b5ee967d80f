// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Where there is no wheel for this user. The property test.reason has words that the error must
 * have.
 */
class UnavailableTest {
    private static final String REASON = System.getProperty("test.reason", "");

    @Test
    void theErrorSaysWhatIsMissing() {
        WheelUnavailableException e =
                assertThrows(WheelUnavailableException.class, HashedWheelTimer::new);
        assertTrue(!REASON.isEmpty() && e.getMessage().contains(REASON), e.getMessage());
    }

    @Test
    void theFactoryFallsBack() throws Exception {
        Timer timer = Timers.newTimer();
        assertInstanceOf(io.netty.util.HashedWheelTimer.class, timer);
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(Support.counting(ran), 1, TimeUnit.MILLISECONDS);
        Support.await(ran);
        timer.stop();
    }
}

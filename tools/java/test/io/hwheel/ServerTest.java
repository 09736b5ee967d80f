// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static io.hwheel.Support.await;
import static io.hwheel.Support.timer;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hwheel.example.IdleServer;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A server of Netty's that closes idle connections. */
class ServerTest {
    private static final int IDLE = 300;

    private static Socket connect(IdleServer server) throws Exception {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
        socket.setSoTimeout(Support.SOON * 1000);
        return socket;
    }

    private static void echo(Socket socket, int what) throws Exception {
        socket.getOutputStream().write(what);
        assertEquals(what, socket.getInputStream().read());
    }

    @Test
    void idleConnectionsAreClosedAndNotEarly() throws Exception {
        HashedWheelTimer timer = timer(10);
        try (IdleServer server = new IdleServer(timer, IDLE)) {
            Socket[] sockets = new Socket[20];
            long[] since = new long[sockets.length];
            for (int i = 0; i < sockets.length; i++) {
                since[i] = System.nanoTime();
                sockets[i] = connect(server);
            }
            for (int i = 0; i < sockets.length; i++) {
                assertEquals(-1, sockets[i].getInputStream().read());
                assertTrue(System.nanoTime() - since[i] >= TimeUnit.MILLISECONDS.toNanos(IDLE));
                sockets[i].close();
            }
        }
        await(() -> timer.pendingTimeouts() == 0);
        assertEquals(0, timer.stop().size());
    }

    @Test
    void closedConnectionsCancelTheirTimeouts() throws Exception {
        HashedWheelTimer timer = timer(10);
        try (IdleServer server = new IdleServer(timer, TimeUnit.HOURS.toMillis(1))) {
            for (int i = 0; i < 50; i++) {
                try (Socket socket = connect(server)) {
                    echo(socket, i);
                }
            }
            await(() -> timer.pendingTimeouts() == 0);
        }
        assertEquals(0, timer.stop().size());
    }
}

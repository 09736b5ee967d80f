// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel.example;

import io.hwheel.HashedWheelTimer;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * A server that sends back what it gets, and closes a connection on which nothing came for a time.
 * All connections share one timer. What is new about it is the class of the timer.
 */
public final class IdleServer implements AutoCloseable {
    private final Timer timer;
    private final long idleMillis;
    private final EventLoopGroup group = new NioEventLoopGroup(1);
    private final Channel channel;

    /**
     * Begins to listen on the loopback interface, on a port that the system chooses.
     *
     * @param timer      closes idle connections; the caller stops it
     * @param idleMillis how long a connection may be idle, in milliseconds
     */
    public IdleServer(Timer timer, long idleMillis) {
        this.timer = timer;
        this.idleMillis = idleMillis;
        channel = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel connection) {
                        connection.pipeline().addLast(new Echo());
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0).syncUninterruptibly().channel();
    }

    /**
     * Returns the port.
     *
     * @return 1 to 65535
     */
    public int port() {
        return ((InetSocketAddress) channel.localAddress()).getPort();
    }

    /** Closes the server and its connections. */
    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** One connection; its event loop calls all methods. */
    private final class Echo extends ChannelInboundHandlerAdapter {
        private Timeout idle;

        @Override
        public void channelActive(ChannelHandlerContext context) {
            idle = arm(context.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            idle.cancel();
            idle = arm(context.channel());
            context.writeAndFlush(message);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            idle.cancel();
        }

        private Timeout arm(Channel connection) {
            return timer.newTimeout(t -> connection.close(), idleMillis, TimeUnit.MILLISECONDS);
        }
    }

    /**
     * Runs until it is killed.
     *
     * @param arguments none, or how many milliseconds a connection may be idle
     */
    public static void main(String[] arguments) {
        long idle = arguments.length > 0 ? Long.parseLong(arguments[0]) : 15_000;
        @SuppressWarnings("resource")
        IdleServer server = new IdleServer(new HashedWheelTimer(), idle);
        System.out.println("port " + server.port() + ", idle connections close after " + idle
                + " ms");
        server.channel.closeFuture().syncUninterruptibly();
    }
}

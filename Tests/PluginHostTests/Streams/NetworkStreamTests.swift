import Core
import HTTPClient
import Logging
import NIOPosix
import StreamTestSupport
import Synchronization
import Testing
import TimeTestSupport

@testable import PluginHost

/// Streams over loopback.
@Suite(.timeLimit(.minutes(1)))
struct NetworkStreamTests {
    private func connect(
        to peer: StreamPeer,
        _ configuration: HTTPLanes.Configuration = .init(),
        _ change: (inout StreamTarget) -> Void = { _ in }
    ) throws -> Receiver {
        var target = StreamTarget(host: "localhost", port: peer.port)
        change(&target)
        let streams = try NetworkStreams(
            configuration: configuration,
            group: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let receiver = Receiver(of: peer)
        receiver.begin(streams.stream(to: target, receiver))
        return receiver
    }

    @Test func bytesAreSentAndReceived() async throws {
        let peer = try StreamPeer(.echo)
        let receiver = try connect(to: peer)
        receiver.connection?.write(Array("hello".utf8))
        await receiver.until { $0.text == "hello" }
        receiver.connection?.close()
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.opened == 1 && receiver.seen.failure == nil && receiver.seen.sent == 5)
    }

    @Test func tlsChecksTheName() async throws {
        let identity = try TestIdentity("DNS:localhost")
        let peer = try StreamPeer(.echo, identity)
        let receiver = try connect(to: peer) { target in
            target.usesTLS = true
            target.authorities = Array(identity.certificate.utf8)
        }
        receiver.connection?.write(Array("hello".utf8))
        await receiver.until { $0.text == "hello" }
        receiver.connection?.close()
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == nil)

        let other = try TestIdentity("DNS:other.example")
        let otherPeer = try StreamPeer(.echo, other)
        let refused = try connect(to: otherPeer) { target in
            target.usesTLS = true
            target.authorities = Array(other.certificate.utf8)
        }
        await refused.until { $0.hasEnded }
        #expect(refused.seen.failure == .tlsName && refused.seen.opened == 0)
    }

    @Test func configuredAuthoritiesReplaceTheSystems() async throws {
        let identity = try TestIdentity()
        let peer = try StreamPeer(.echo, identity)
        let unknown = try connect(to: peer) { $0.usesTLS = true }
        await unknown.until { $0.hasEnded }
        #expect(unknown.seen.failure == .tlsUntrusted)
        let broken = try connect(to: peer) { target in
            target.usesTLS = true
            target.authorities = Array("no PEM".utf8)
        }
        await broken.until { $0.hasEnded }
        #expect(broken.seen.failure == .tls)
    }

    @Test func startTLS() async throws {
        let identity = try TestIdentity()
        let peer = try StreamPeer(.startTLS, identity)
        let receiver = try connect(to: peer) { $0.authorities = Array(identity.certificate.utf8) }
        await receiver.until { $0.text == "220 ready\n" }
        receiver.connection?.write(Array("STARTTLS\n".utf8))
        await receiver.until { $0.text == "220 ready\ngo\n" }
        receiver.connection?.startTLS()
        receiver.connection?.write(Array("secret\n".utf8))
        await receiver.until { $0.text == "220 ready\ngo\nsecret\n" }
        receiver.connection?.close()
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.opened == 2 && receiver.seen.failure == nil)
    }

    @Test func clearTextAfterStartTLSFails() async throws {
        let peer = try StreamPeer(.injection)
        let receiver = try connect(to: peer)
        receiver.connection?.write(Array("STARTTLS\n".utf8))
        await receiver.until { $0.text.hasSuffix("go\n") }
        receiver.connection?.startTLS()
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .tls && receiver.seen.opened == 1)
        #expect(!receiver.seen.text.contains("EVIL"))
    }

    @Test(arguments: ["127.0.0.1", "localhost", "::1"])
    func usersHostsMustNotBePrivate(_ host: String) async throws {
        let peer = try StreamPeer(.echo)
        let receiver = try connect(to: peer) { target in
            target.host = host
            target.isUntrusted = true
        }
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .forbiddenAddress && peer.seen == 0)
    }

    @Test func configuredExceptionsAreAllowed() async throws {
        let peer = try StreamPeer(.goodbye)
        let receiver = try connect(to: peer, .init(allowPrivate: ["127.0.0.0/8"])) { target in
            target.host = "127.0.0.1"
            target.isUntrusted = true
        }
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == nil && receiver.seen.text == "bye\n")
    }

    @Test(arguments: [("no-such-host.invalid", StreamError.unresolved), ("not..a..name", .unresolved)])
    func unresolvableNamesFail(_ host: String, _ failure: StreamError) async throws {
        let receiver = try connect(to: StreamPeer(.echo)) { $0.host = host }
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == failure)
    }

    @Test func closedPortIsUnreachable() async throws {
        let deaf = try DeafPort()
        let receiver = try connect(to: StreamPeer(.echo)) { target in
            target.host = "127.0.0.1"
            target.port = deaf.port
        }
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .unreachable)
        withExtendedLifetime(deaf) {}
    }

    /// A member of a cluster that was suspended past its leases must not send: others have taken over.
    @Test func closedGateBlocksConnectionsAndWrites() async throws {
        let clock = ManualClock()
        let gate = RequestGate(now: clock.monotonic)
        var configuration = HTTPLanes.Configuration()
        configuration.gate = gate
        let peer = try StreamPeer(.echo)
        let receiver = try connect(to: peer, configuration)
        receiver.connection?.write(Array("before".utf8))
        await receiver.until { $0.text == "before" }

        gate.close(at: clock.monotonic())
        receiver.connection?.write(Array("late".utf8))
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .reset && receiver.seen.sent == 6 && receiver.seen.text == "before")
        let refused = try connect(to: peer, configuration)
        refused.connection?.write(Array("late".utf8))
        await refused.until { $0.hasEnded }
        #expect(refused.seen.failure == .reset && refused.seen.sent == 0)

        gate.close(at: .distantFuture)
        clock.advance(by: .seconds(1))
        let later = try connect(to: peer, configuration)
        later.connection?.write(Array("after".utf8))
        await later.until { $0.text == "after" }
        #expect(later.seen.failure == nil)
    }

    @Test func brokenConnection() async throws {
        let receiver = try connect(to: StreamPeer(.reset))
        receiver.connection?.write([1])
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .reset)
    }

    @Test func handshakeThatNeverComes() async throws {
        let receiver = try connect(to: StreamPeer(.silent)) { target in
            target.usesTLS = true
            target.connectTimeout = .milliseconds(100)
        }
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .timeout)
    }

    @Test func idleStream() async throws {
        let receiver = try connect(to: StreamPeer(.silent)) { $0.idleTimeout = .milliseconds(100) }
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .idle && receiver.seen.opened == 1)
    }

    @Test func readingPauses() async throws {
        let peer = try StreamPeer(.flood(8 << 20))
        let receiver = Receiver(of: peer, pausingAt: 256 << 10)
        let streams = try NetworkStreams(
            configuration: .init(),
            group: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        receiver.begin(streams.stream(to: StreamTarget(host: "127.0.0.1", port: peer.port), receiver))
        await receiver.until { $0.bytes.count >= 256 << 10 }
        // No bytes arrive during the pause: the end of an unrelated exchange leaves time for them.
        let other = try connect(to: StreamPeer(.goodbye))
        await other.until { $0.hasEnded }
        #expect(receiver.seen.bytes.count <= (256 << 10) + NIOStream.pieceSize)
        receiver.resume()
        await receiver.until { $0.bytes.count == 8 << 20 }
        receiver.connection?.end(.shutDown)
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .shutDown)
    }

    @Test func proxyIsAskedForTheName() async throws {
        let proxy = try StreamPeer(.tunnel)
        let receiver = try connect(to: proxy, .init(proxy: "http://127.0.0.1:\(proxy.port)")) { target in
            target.host = "mail.example.invalid"
            target.port = 25
            target.isUntrusted = true
        }
        // The server's greeting came in one segment with the proxy's answer.
        await receiver.until { $0.text == "220 ready\n" }
        receiver.connection?.write(Array("hello".utf8))
        await receiver.until { $0.text == "220 ready\nhello" }
        #expect(proxy.text.hasPrefix("CONNECT mail.example.invalid:25 HTTP/1.1\r\n"))
        receiver.connection?.close()
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == nil && receiver.seen.opened == 1)
    }

    @Test(arguments: ["socks5://127.0.0.1:1080", "https://127.0.0.1:1080"])
    func proxyIsNotBypassed(_ proxy: String) async throws {
        let peer = try StreamPeer(.goodbye)
        let receiver = try connect(to: peer, .init(proxy: proxy))
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .unreachable && peer.seen == 0)
    }

    @Test func disabledStreamsFail() async {
        let receiver = Receiver()
        receiver.begin(NoStreams().stream(to: StreamTarget(host: "localhost", port: 1), receiver))
        await receiver.until { $0.hasEnded }
        #expect(receiver.seen.failure == .unreachable && receiver.seen.ends == 1)
    }
}

/// Records the events of a stream.
private final class Receiver: StreamReceiver {
    struct Seen: Sendable {
        var opened = 0
        var bytes: [UInt8] = []
        var sent: UInt64 = 0
        var failure: StreamError?
        var ends = 0

        var hasEnded: Bool { ends > 0 }
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    private let state = Mutex((seen: Seen(), connection: (any StreamConnection)?.none))
    private let pausesAt: Mutex<Int>

    /// Keeps the other side.
    private let peer: StreamPeer?

    init(of peer: StreamPeer? = nil, pausingAt bytes: Int = .max) {
        self.peer = peer
        pausesAt = Mutex(bytes)
    }

    var seen: Seen { state.withLock(\.seen) }
    var connection: (any StreamConnection)? { state.withLock(\.connection) }

    func begin(_ connection: any StreamConnection) {
        state.withLock { $0.connection = connection }
        connection.start()
    }

    func resume() {
        pausesAt.withLock { $0 = .max }
        connection?.setReading(true)
    }

    /// Waits until `condition` holds, up to 20 s.
    func until(_ condition: (Seen) -> Bool) async {
        for _ in 0..<4_000 where !condition(seen) { try? await Task.sleep(for: .milliseconds(5)) }
        #expect(condition(seen), "\(seen.opened) \(seen.bytes.count) \(String(describing: seen.failure))")
    }

    func opened() { state.withLock { $0.seen.opened += 1 } }

    func received(_ bytes: UnsafeRawBufferPointer) {
        let count = state.withLock { state in
            state.seen.bytes += bytes
            return state.seen.bytes.count
        }
        if count >= pausesAt.withLock(\.self) { connection?.setReading(false) }
    }

    func sent(_ total: UInt64) { state.withLock { $0.seen.sent = total } }

    func closed(_ failure: StreamError?, done: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.seen.failure = failure
            state.seen.ends += 1
        }
        done()
    }
}

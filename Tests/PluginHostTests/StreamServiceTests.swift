import Core
import Foundation
import HTTPClient
import Logging
import NIOPosix
import Push
import StreamTestSupport
import Testing
import TimeTestSupport

@testable import PluginHost

/// The service carillon.stream/1, over loopback.
@Suite(.timeLimit(.minutes(2)))
struct StreamServiceTests {
    /// A transport whose configuration controls its use of a stream.
    private struct StreamBench {
        let workshop: Workshop
        let host: PluginHost
        let instance: TransportInstance
        let log = LogBook()
        let peer: StreamPeer?

        init(_ behaviour: String, _ settings: String..., peer: StreamPeer? = nil) throws {
            self.peer = peer
            workshop = try Workshop()
            try workshop.compile("stream.c", to: "plugin.so")
            host = workshop.load(log: log)
            if let refusal = host.catalog.refusals.first { throw refusal }
            instance = try host.makeTransport(
                platform: "fixture",
                app: "default",
                configuration: "{" + ([#""do":"\#(behaviour)""#] + settings).joined(separator: ",") + "}",
                settings: InstanceSettings(
                    sender: RecordingHTTP(),
                    streams: NetworkStreams(
                        configuration: HTTPLanes.Configuration(),
                        group: MultiThreadedEventLoopGroup.singleton,
                        logger: log.logger
                    ),
                    log: log.logger
                )
            )
        }

        /// A transport whose stream leads to `peer`.
        init(_ behaviour: String, to peer: StreamPeer, host: String = "localhost", _ settings: String...) throws {
            let target = #""host":"\#(host)","port":\#(peer.port)"#
            try self.init(behaviour, ([target] + settings).joined(separator: ","), peer: peer)
        }

        /// Delivers, and waits for the reason of the outcome.
        func reason() async -> String { await instance.outcome().reason }
    }

    private static func authorities(_ identity: TestIdentity) -> String {
        #""authorities":"\#(identity.certificate.replacingOccurrences(of: "\n", with: "\\n"))""#
    }

    @Test func bytesAreSentAndReceived() async throws {
        let peer = try StreamPeer(.echo)
        let bench = try StreamBench("echo", to: peer)
        #expect(await bench.reason() == "orderly")
        #expect(peer.text == "hello\n")
        #expect(bench.log.said == ["opened", "hello", "closed: "])
        #expect(await eventually { bench.instance.streams.open == 0 })
        #expect(bench.instance.streams.begun == 1 && bench.instance.streams.failures.isEmpty)
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test func tlsWithItsOwnAuthority() async throws {
        let identity = try TestIdentity()
        let peer = try StreamPeer(.echo, identity)
        let bench = try StreamBench("echo", to: peer, #""flags":1"#, Self.authorities(identity))
        #expect(await bench.reason() == "orderly")
        #expect(peer.text == "hello\n")
    }

    @Test func certificatesAreChecked() async throws {
        let other = try TestIdentity("DNS:other.example")
        let peer = try StreamPeer(.echo, other)
        #expect(try await StreamBench("echo", to: peer, #""flags":1"#).reason() == "tls-untrusted")
        let bench = try StreamBench("echo", to: peer, #""flags":1"#, Self.authorities(other))
        #expect(await bench.reason() == "tls-name")
        #expect(peer.text.isEmpty)
        #expect(await eventually { bench.instance.streams.failures == [.tlsName: 1] })
    }

    @Test func startTLS() async throws {
        let identity = try TestIdentity()
        let peer = try StreamPeer(.startTLS, identity)
        let bench = try StreamBench("starttls", to: peer, Self.authorities(identity))
        #expect(await bench.reason() == "orderly")
        #expect(bench.log.said == ["opened", "220 ready", "go", "opened", "secret", "closed: "])
        #expect(peer.text == "STARTTLS\nsecret\n")
    }

    @Test func clearTextAfterStartTLSIsRefused() async throws {
        let peer = try StreamPeer(.injection)
        let bench = try StreamBench("starttls", to: peer)
        #expect(await bench.reason() == "tls")
        #expect(bench.log.said == ["opened", "220 ready", "go", "closed: tls"])
    }

    @Test func usersHostsMustNotBePrivate() async throws {
        let peer = try StreamPeer(.echo)
        #expect(try await StreamBench("echo", to: peer, #""flags":2"#).reason() == "forbidden-address")
        #expect(
            try await StreamBench("echo", to: peer, host: "127.0.0.1", #""flags":2"#).reason() == "forbidden-address"
        )
        #expect(peer.seen == 0)
    }

    @Test func unresolvableNameFails() async throws {
        let bench = try StreamBench("echo", #""host":"no-such-host.invalid","port":1"#)
        #expect(await bench.reason() == "unresolved")
    }

    @Test func peerMayClose() async throws {
        let bench = try StreamBench("keep", to: StreamPeer(.goodbye))
        #expect(await bench.reason() == "kept")
        #expect(await eventually { bench.log.said == ["opened", "bye", "closed: "] })
        #expect(try await StreamBench("echo", to: StreamPeer(.reset)).reason() == "reset")
    }

    @Test func timeoutsAreEnforced() async throws {
        let peer = try StreamPeer(.silent)
        #expect(try await StreamBench("echo", to: peer, #""flags":1,"connect":100"#).reason() == "timeout")
        #expect(try await StreamBench("echo", to: peer, #""idle":100"#).reason() == "idle")
    }

    @Test func largeDataIsSentAndReceived() async throws {
        let bench = try StreamBench("bulk", to: StreamPeer(.echo))
        #expect(await bench.reason() == "orderly")
        #expect(bench.log.said.first == "opened" && bench.log.said.suffix(2) == ["whole", "closed: "])
        #expect(bench.log.said.contains("busy") && bench.log.said.contains("drained"))
        #expect(!bench.log.said.contains("mangled"))
    }

    @Test func malformedRequestsForStreamsAreRefused() async throws {
        let bench = try StreamBench("malformed")
        #expect(await bench.reason() == "all-refused")
        #expect(await eventually { bench.instance.statistics.malformedStreams == 11 })
        #expect(bench.instance.streams.begun == 0)
    }

    @Test func instanceHasAtMost256Streams() async throws {
        let bench = try StreamBench("many", to: StreamPeer(.silent))
        #expect(await bench.reason() == "256")
        #expect(await bench.instance.drain(within: .minutes(1)))
        #expect(bench.log.said.suffix(2) == ["all closed", "destroyed"])
    }

    @Test func openStreamsEndBeforeTheInstance() async throws {
        let peer = try StreamPeer(.echo)
        let bench = try StreamBench("keep", to: peer)
        #expect(await bench.reason() == "kept")
        #expect(bench.instance.streams.open == 1)
        #expect(await eventually { bench.instance.isIdle })
        #expect(await bench.instance.drain(within: .minutes(1)))
        #expect(bench.log.said == ["opened", "closed: shut-down", "destroyed"])
        #expect(bench.instance.streams.open == 0)
        #expect(await eventually { peer.open == 0 })
    }

    @Test func activeDeliveryKeepsItsStream() async throws {
        let peer = try StreamPeer(.silent)
        let bench = try StreamBench("echo", to: peer, #""idle":300"#)
        async let reason = bench.reason()
        #expect(await eventually { peer.text == "hello\n" })
        #expect(await bench.instance.drain(within: .minutes(1)))
        // It ended on its own, and not with the instance.
        #expect(await reason == "idle")
        #expect(bench.log.said.last == "destroyed")
    }

    @Test func streamMayBeginInCreate() async throws {
        let bench = try StreamBench("from-create", to: StreamPeer(.goodbye))
        #expect(await eventually { bench.log.said == ["opened", "bye", "closed: "] })
        #expect(await bench.instance.drain(within: .minutes(1)))
    }
}

/// Streams of a process that crashes.
@Suite(.timeLimit(.minutes(2)))
struct StreamsOfDeadProcessTests {
    @Test func streamsOfACrashedProcessAreClosed() async throws {
        let peer = try StreamPeer(.echo)
        let workshop = try Workshop()
        try workshop.compile("stream.c", to: "plugin.so")
        let log = LogBook()
        let host = workshop.load(isolation: .forTests, log: log)
        let instance = try host.makeTransport(
            platform: "fixture",
            app: "default",
            configuration: #"{"do":"keep","host":"localhost","port":\#(peer.port)}"#,
            settings: InstanceSettings(
                sender: RecordingHTTP(),
                streams: NetworkStreams(
                    configuration: HTTPLanes.Configuration(),
                    group: MultiThreadedEventLoopGroup.singleton,
                    logger: log.logger
                ),
                log: log.logger
            )
        )
        let outcomes = Outcomes()
        instance.deliver { outcomes.append($0) }
        #expect(await eventually { outcomes.reasons == ["kept"] && peer.open == 1 })
        let process = try #require(host.processReports.first?.process)
        kill(process, SIGKILL)
        #expect(await eventually { peer.open == 0 && instance.streams.open == 0 })
        // The next process opens its own stream.
        instance.deliver { outcomes.append($0) }
        #expect(await eventually { outcomes.reasons == ["kept", "kept"] && peer.open == 1 })
        #expect(await instance.drain(within: .minutes(1)))
        #expect(log.said.last == "destroyed")
        #expect(host.processReports.first?.crashes == 1)
    }
}

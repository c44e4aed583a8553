import CommandTestSupport
import Core
import NIOSSL
import RouterConfiguration
import Synchronization
import Testing

@testable import Cluster

/// The client against the real nats-server.
@Suite(.timeLimit(.minutes(1)))
struct RealServerTests {
    @Test func questionsAreAnswered() async throws {
        let server = try RealServer()
        let (asking, answering) = (try await server.client(), try await server.client())
        await #expect(throws: NATSError.noResponders) {
            try await asking.request("echo.a", [1], within: .seconds(10))
        }
        let subscription = try answering.subscribe("echo.*") { message in
            guard let replyTo = message.replyTo else { return }
            let headers: NATSHeaders = ["Seen": message.headers["Question"] ?? "none"]
            try? answering.publish(replyTo, message.payload.reversed(), headers: headers)
        }
        // A subscription is active once the server has handled a later message.
        _ = try? await answering.request("$SYS.nobody", [], within: .seconds(10))
        for number in 0..<50 {
            let answer = try await asking.request(
                "echo.b",
                [1, UInt8(number)],
                headers: ["Question": "q\(number)"],
                within: .seconds(10)
            )
            #expect(answer.payload == [UInt8(number), 1])
            #expect(answer.headers["Seen"] == "q\(number)")
        }
        subscription.end()
        _ = try? await answering.request("$SYS.nobody", [], within: .seconds(10))
        await #expect(throws: NATSError.noResponders) {
            try await asking.request("echo.a", [1], within: .seconds(10))
        }
        asking.close()
        await #expect(throws: NATSError.closed) { try await asking.request("echo.a", [1], within: .seconds(10)) }
    }

    @Test func unansweredRequestTimesOut() async throws {
        let server = try RealServer()
        let client = try await server.client()
        let subscription = try client.subscribe("silent") { _ in }
        await #expect(throws: NATSError.late) { try await client.request("silent", [], within: .milliseconds(50)) }
        subscription.end()
    }

    /// The cluster's fence: an append with an outdated expectation is rejected, and its repetition is recognized.
    @Test func appendsExpectTheLastSequence() async throws {
        let server = try RealServer()
        let stream = JetStream(try await server.client())
        try await stream.ensure(StreamConfiguration(name: "LOG", subjects: ["log.*"]))
        try await stream.ensure(StreamConfiguration(name: "LOG", subjects: ["log.*"]))
        let first = try await stream.append("log.1", [1], expecting: .init(lastOfSubject: 0, messageID: "a"))
        _ = try await stream.append("log.2", [9])
        let second = try await stream.append("log.1", [2], expecting: .init(lastOfSubject: first.seq, messageID: "b"))
        #expect([first.seq, second.seq] == [1, 3])
        let refusal = await #expect(throws: NATSError.self) {
            try await stream.append("log.1", [3], expecting: .init(lastOfSubject: first.seq, messageID: "c"))
        }
        guard case .refused(JetStream.Code.wrongLastSequence, _)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        // A writer that missed the response retries. A single server checks the expectation first, so the last message
        // must identify its writer.
        await #expect(throws: NATSError.self) {
            try await stream.append("log.1", [2], expecting: .init(lastOfSubject: first.seq, messageID: "b"))
        }
        #expect(try await stream.last(of: "log.1", in: "LOG")?.headers["Nats-Msg-Id"] == "b")
        let again = try await stream.append("log.1", [2], expecting: .init(messageID: "b"))
        #expect(again.seq == second.seq && again.duplicate == true)

        #expect(try await stream.last(of: "log.1", in: "LOG")?.payload == [2])
        #expect(try await stream.next(of: "log.1", from: 2, in: "LOG")?.sequence == 3)
        #expect(try await stream.next(of: "log.1", from: 4, in: "LOG") == nil)
        try await stream.purge("LOG", subject: "log.1", before: 3)
        #expect(try await stream.next(of: "log.1", from: 0, in: "LOG")?.sequence == 3)
        _ = try await stream.append("log.1", [4], expecting: .init(lastOfSubject: 3))
        #expect(try await stream.describe("LOG").state.messages == 3)
        try await stream.delete(stream: "LOG")
        await #expect(throws: NATSError.noResponders) { try await stream.append("log.1", []) }
    }

    @Test func replicaReportsItsMessages() async throws {
        let server = try RealServer()
        let stream = JetStream(try await server.client())
        var configuration = StreamConfiguration(name: "SNAP", subjects: ["snap.>"])
        configuration.allowDirect = true
        try await stream.ensure(configuration)
        #expect(try await stream.copy(ofLast: "snap.1.a.0", in: "SNAP") == nil)
        _ = try await stream.append("snap.1.a.0", [1, 2, 3])
        _ = try await stream.append("snap.1.a.1", [])
        #expect(try await stream.copy(ofLast: "snap.1.a.0", in: "SNAP") == [1, 2, 3])
        #expect(try await stream.copy(ofLast: "snap.1.a.1", in: "SNAP") == [])
    }

    @Test func bucketsKeepTheLastValue() async throws {
        let server = try RealServer()
        let bucket = KeyValueBucket("LEASE", in: JetStream(try await server.client()))
        try await bucket.stream.ensure(KeyValueBucket.configuration(bucket.name, replicas: 1))
        #expect(try await bucket.entry("p.1") == nil)
        let one = try await bucket.put("p.1", [1], over: 0)
        await #expect(throws: NATSError.self) { try await bucket.put("p.1", [2], over: 0) }
        let two = try await bucket.put("p.1", [2], over: one)
        #expect(try await bucket.entry("p.1") == .init(key: "p.1", value: [2], revision: two))
        let three = try await bucket.delete("p.1", over: two)
        #expect(try await bucket.entry("p.1") == .init(key: "p.1", value: nil, revision: three))
        await #expect(throws: NATSError.self) { try await bucket.put("p.1", [3], over: 0) }
        try await bucket.put("p.1", [3], over: three)
    }

    @Test func aWatchSeesEachChangeOnceOverARestartOfTheServer() async throws {
        let server = try RealServer()
        let client = try await server.client()
        let bucket = KeyValueBucket("LISTS", in: JetStream(client, timeout: .seconds(1)))
        try await bucket.stream.ensure(KeyValueBucket.configuration(bucket.name, replicas: 1))
        for number in 0..<20 { try await bucket.put("k.\(number % 10)", [UInt8(number)]) }
        let seen = Mutex<[KeyValueWatch.Change]>([])
        let watch = KeyValueWatch(bucket) { change in seen.withLock { $0.append(change) } }
        await watch.tick()
        #expect(await eventually { seen.withLock { $0.contains(.isCurrent) } })
        #expect(seen.withLock { $0.firstIndex(of: .isCurrent) } == 10)

        server.kill()
        #expect(await eventually { !client.isConnected })
        await #expect(throws: NATSError.disconnected) { try await bucket.put("k.1", [99]) }
        try server.start()
        var revision: UInt64 = 0
        #expect(
            await eventually {
                guard let put = try? await bucket.put("k.1", [100]) else { return false }
                revision = put
                return true
            }
        )
        // The consumer in memory is gone: another one starts at its position.
        let last = KeyValueBucket.Entry(key: "k.1", value: [100], revision: revision)
        #expect(
            await eventually {
                await watch.tick()
                return seen.withLock { $0.contains(.entry(last)) }
            }
        )
        let revisions = seen.withLock { $0 }.compactMap { change -> UInt64? in
            if case .entry(let entry) = change { entry.revision } else { nil }
        }
        #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
        watch.end()
    }

    @Test func keysPasswordsAndTLSAuthenticate() async throws {
        let certificate = try TestCertificate.shared.get()
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
        let key = try #require(NKey(seed: seed))
        let server = try RealServer(
            """
            tls: { cert_file: "\(certificate.certificateFile)", key_file: "\(certificate.keyFile)" }
            authorization: { users: [ { nkey: "\(key.publicKey)" }, { user: "u", password: "p" } ] }
            """
        )
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(certificate.certificateFile)
        for credentials in [NATSCredentials.key(key), .password(user: "u", "p")] {
            let client = try await server.client { settings in
                settings.tls = tls
                settings.credentials = credentials
            }
            #expect(client.isConnected)
            client.close()
        }
        for (credentials, roots) in [(NATSCredentials.password(user: "u", "x"), Optional(tls)), (.key(key), nil)] {
            await #expect(throws: NATSError.disconnected) {
                try await server.client { settings in
                    settings.tls = roots
                    settings.credentials = credentials
                }
            }
        }
    }
}

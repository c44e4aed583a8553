import Core
import Foundation
import Listeners
import Logging
import NIOCore
import NIOPosix
import NIOWebSocket
import Nostr
import Synchronization
import Testing
import TimeTestSupport

@testable import RelayServer

/// The server on a port of the system's, spoken to over real sockets.
@Suite struct RelayServerTests {
    private func withServer(
        _ backend: RecordingBackend = RecordingBackend(),
        limits: RelayServerConfiguration.Limits = RelayServerConfiguration.Limits(),
        _ body: (Int) async throws -> Void
    ) async throws {
        try await ServedRelay.run(backend, limits: limits) { port, _ in try await body(port) }
    }

    private static let event =
        "{\"id\":\"\(String(repeating: "0a", count: 32))\",\"pubkey\":\"\(String(repeating: "0b", count: 32))\",\"created_at\":1,"
        + "\"kind\":1,\"tags\":[],\"content\":\"\",\"sig\":\"\(String(repeating: "0c", count: 64))\"}"

    @Test func greetsWithAChallengeAndAnswersEventsInOrder() async throws {
        try await withServer { port in
            var client = try await WebSocketClient(port: port)
            #expect(await client.nextText() == "[\"AUTH\",\"word\"]")
            try await client.send("[\"EVENT\",\(Self.event)]")
            try await client.send("[\"REQ\",\"s\",{\"kinds\":[10067]}]")
            #expect(await client.nextText() == "[\"OK\",\"\(String(repeating: "0a", count: 32))\",true,\"\"]")
            #expect(await client.nextText() == "[\"EOSE\",\"s\"]")
            try await client.close()
        }
    }

    @Test func storedEventsComeBeforeEOSE() async throws {
        try await withServer(RecordingBackend(stored: [Array("{\"kind\":10067}".utf8)])) { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            try await client.send("[\"REQ\",\"s\",{}]")
            #expect(await client.nextText() == "[\"EVENT\",\"s\",{\"kind\":10067}]")
            #expect(await client.nextText() == "[\"EOSE\",\"s\"]")
            try await client.close()
        }
    }

    @Test func fragmentedMessagesAreReassembled() async throws {
        try await withServer { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            let message = Array("[\"REQ\",\"s\",{}]".utf8)
            try await client.send(opcode: .text, bytes: Array(message.prefix(5)), fin: false)
            try await client.send(opcode: .continuation, bytes: Array(message.dropFirst(5)))
            #expect(await client.nextText() == "[\"EOSE\",\"s\"]")
            try await client.close()
        }
    }

    @Test func oversizedMessageClosesOnlyItsConnection() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.messageBytes = ByteCount(1000)
        try await withServer(limits: limits) { port in
            var offender = try await WebSocketClient(port: port)
            var other = try await WebSocketClient(port: port)
            _ = await offender.next()
            _ = await other.next()
            try await offender.send("[\"EVENT\",\"" + String(repeating: "x", count: 2000) + "\"]")
            #expect(await offender.next() == .closed(1009))
            try await other.send("[\"REQ\",\"s\",{}]")
            #expect(await other.nextText() == "[\"EOSE\",\"s\"]")
            try await other.close()
        }
    }

    @Test func unmaskedFramesAndUnknownExtensionsAreRefused() async throws {
        let text = ByteBuffer(string: "[\"CLOSE\",\"s\"]")
        try await withServer { port in
            for frame in [
                WebSocketFrame(fin: true, opcode: .text, data: text),
                WebSocketFrame(fin: true, rsv1: true, opcode: .text, maskKey: .random(), data: text),
                WebSocketFrame(
                    fin: true,
                    opcode: WebSocketOpcode(encodedWebSocketOpcode: 3) ?? .text,
                    maskKey: .random(),
                    data: text
                ),
                WebSocketFrame(fin: true, opcode: .continuation, maskKey: .random(), data: text),
                WebSocketFrame(fin: true, rsv3: true, opcode: .ping, maskKey: .random(), data: ByteBuffer()),
            ] {
                var client = try await WebSocketClient(port: port)
                _ = await client.next()
                try await client.send(frame)
                #expect(await client.next() == .closed(1002))
            }
        }
    }

    @Test func aMalformedEventIsRefusedByItsID() async throws {
        let backend = RecordingBackend { _ in EventAnswer(id: nil, accepted: false, message: "invalid: odd") }
        try await withServer(backend) { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            let id = String(repeating: "0a", count: 32)
            try await client.send("[\"EVENT\",{\"kind\":\"1\",\"id\":\"\(id)\"}]")
            #expect(await client.nextText() == "[\"OK\",\"\(id)\",false,\"invalid: odd\"]")
            try await client.send("[\"EVENT\",{\"kind\":1,\"id\":\"0A\"}]")
            #expect(await client.nextText() == "[\"NOTICE\",\"invalid: odd\"]")
            try await client.close()
        }
    }

    @Test(arguments: [true, false]) func invalidUTF8ClosesWith1007(_ isWhole: Bool) async throws {
        try await withServer { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            let text = Array("[\"CLOSE\",\"caf".utf8) + [0xE9] + Array("\"]".utf8)
            if isWhole {
                try await client.send(opcode: .text, bytes: text)
            } else {
                // A frame may end inside a character, but this byte is never valid UTF-8.
                try await client.send(opcode: .text, bytes: Array(text.prefix(14)), fin: false)
                try await client.send(opcode: .continuation, bytes: Array(text.dropFirst(14)))
            }
            #expect(await client.next() == .closed(1007))
        }
    }

    @Test func aCharacterMayBeCutByFrames() async throws {
        try await withServer { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            let text = Array("[\"REQ\",\"é\",{}]".utf8)
            try await client.send(opcode: .text, bytes: Array(text.prefix(9)), fin: false)
            try await client.send(opcode: .continuation, bytes: Array(text.dropFirst(9)))
            #expect(await client.nextText() == "[\"EOSE\",\"é\"]")
            try await client.close()
        }
    }

    @Test(arguments: [("HTTP/1.1", "", 400), ("HTTP/1.1", "host: a\r\nhost: a\r\n", 400), ("HTTP/1.0", "", 200)])
    func requestMustNameExactlyOneHost(_ version: String, _ fields: String, _ status: Int) async throws {
        let upgrade =
            "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
            + "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        try await withServer { port in
            for further in ["", version == "HTTP/1.1" ? upgrade : ""] {
                let answer = try await answer(port, "GET / \(version)\r\n\(fields)\(further)\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }

    @Test func clientThatNeverReadsIsDisconnected() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.burst = 1_000
        let large = Array("{\"kind\":10067,\"content\":\"\(String(repeating: "x", count: 1_000_000))\"}".utf8)
        try await withServer(RecordingBackend(stored: Array(repeating: large, count: 16)), limits: limits) { port in
            let client = try await WebSocketClient(port: port)
            try await client.reads(false)
            // The server may be quicker with its goodbye than we with the rest.
            try? await client.send("[\"REQ\",\"s\",{}]")
            try? await client.send("[\"REQ\",\"t\",{}]")
            try? await client.reads(true)
            try await client.ended()
        }
    }

    @Test func clientThatIgnoresTheRateLimitIsDisconnected() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.burst = 2
        limits.messagesPerSecond = 0
        try await withServer(limits: limits) { port in
            var client = try await WebSocketClient(port: port)
            for _ in 0..<11 { try await client.send("[\"REQ\",\"s\",{}]") }
            var last: WebSocketClient.Received?
            while let received = await client.next() { last = received }
            #expect(last == .closed(1008))
        }
    }

    @Test func clientThatKeepsPingingIsDisconnected() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.burst = 2
        limits.messagesPerSecond = 0
        try await withServer(limits: limits) { port in
            var client = try await WebSocketClient(port: port)
            for _ in 0..<11 { try await client.send(opcode: .ping, bytes: []) }
            var last: WebSocketClient.Received?
            while let received = await client.next() { last = received }
            #expect(last == .closed(1008))
        }
    }

    @Test func connectionWithoutAHandshakeIsDisconnected() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.handshakeTimeout = .zero
        try await withServer(limits: limits) { port in
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.closeFuture.get()
        }
    }

    @Test func clientThatSendsAnIncompleteMessageIsDisconnected() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.messageTimeout = .zero
        try await withServer(limits: limits) { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            try await client.send(opcode: .text, bytes: Array("[\"REQ\"".utf8), fin: false)
            #expect(await client.next() == .closed(1008))
        }
    }

    @Test func takenPortIsExplained() async throws {
        try await withServer { port in
            var configuration = RelayServerConfiguration()
            configuration.port = port
            let second = RelayServer(
                configuration: configuration,
                information: RelayInformation(
                    name: "",
                    description: "",
                    pubkey: "",
                    version: "",
                    limits: configuration.limits
                ),
                backend: RecordingBackend(),
                group: .singletonMultiThreadedEventLoopGroup,
                now: { 0 },
                logger: Logger(label: "test")
            )
            let error = await #expect(throws: ListenError.self) { _ = try await second.start() }
            #expect(error?.description == "the address is in use by another program")
        }
    }

    @Test func binaryMessagesAreRefused() async throws {
        try await withServer { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            try await client.send(opcode: .binary, bytes: [1, 2, 3])
            #expect(await client.next() == .closed(1003))
        }
    }

    @Test func readingContinuesWhenResponsesAreSent() async throws {
        let backend = RecordingBackend(holds: true)
        var limits = RelayServerConfiguration.Limits()
        limits.eventsInWork = 1
        try await withServer(backend, limits: limits) { port in
            var client = try await WebSocketClient(port: port)
            _ = await client.next()
            let releasing = Task {
                while !Task.isCancelled {
                    let held = backend.state.withLock { state in
                        defer { state.held = [] }
                        return state.held
                    }
                    for release in held { release() }
                    await Task.yield()
                }
            }
            for _ in 0..<20 {
                try await client.send("[\"EVENT\",\(Self.event)]")
                try await client.send("[\"EVENT\",\(Self.event)]")
                #expect(await client.nextText().hasPrefix("[\"OK\""))
                #expect(await client.nextText().hasPrefix("[\"OK\""))
            }
            releasing.cancel()
            try await client.close()
        }
    }

    @Test func connectionsBeyondTheLimitAreRefused() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.connections = 1
        try await withServer(limits: limits) { port in
            let first = try await WebSocketClient(port: port)
            await #expect(throws: (any Error).self) { _ = try await WebSocketClient(port: port) }
            try await first.close()
        }
    }

    @Test func informationDocumentIsServedOnRequest() async throws {
        try await withServer { port in
            let answer = try await http(port, accept: "application/nostr+json")
            #expect(answer.contains("access-control-allow-origin: *"))
            let body = try #require(answer.components(separatedBy: "\r\n\r\n").last)
            let document = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
            #expect(document["name"] as? String == "test")
            #expect(document["pubkey"] as? String == String(repeating: "ab", count: 32))
            #expect((document["limitation"] as? [String: Any])?["max_message_length"] as? Int == 131_072)
            #expect((document["supported_nips"] as? [Int])?.contains(42) == true)
            #expect(try await http(port, accept: "text/html").contains("This is a Nostr notification relay."))
        }
    }

    @Test func browserPagesAreServedIfConfigured() async throws {
        let page = StaticSite.File(name: "index.html", bytes: Array("<p>".utf8), policy: "default-src 'none'")
        let site = StaticSite(folder: "pages", files: [page])
        try await ServedRelay.run(site: site) { port, _ in
            let answer = try await http(port, accept: "text/html", path: "/pages/")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n<p>"))
            #expect(answer.contains("content-security-policy: default-src 'none'\r\n"))
            #expect(answer.contains("content-length: 3\r\n") && !answer.contains("access-control-allow-origin"))
            let tag = try #require(answer.firstMatch(of: /etag: (.*)\r\n/)).1
            let known = try await http(port, accept: "*/*\r\nif-none-match: \(tag)", path: "/pages/")
            #expect(known.hasPrefix("HTTP/1.1 304") && known.hasSuffix("\r\n\r\n") && !known.contains("content-length"))
            let head = try await http(port, accept: "*/*", path: "/pages/", method: "HEAD")
            #expect(head.hasSuffix("\r\n\r\n") && head.contains("content-length: 3\r\n"))
            #expect(try await http(port, accept: "*/*", path: "/pages").contains("\r\nlocation: pages/\r\n"))
            let posted = try await http(port, accept: "*/*", path: "/pages/", method: "POST")
            #expect(posted.hasPrefix("HTTP/1.1 405") && posted.contains("allow: GET, HEAD\r\n"))
            // Everything else at this address stays as it is.
            let document = try await http(port, accept: "application/nostr+json", path: "/pages/")
            #expect(document.contains("application/nostr+json"))
            #expect(try await http(port, accept: "*/*").contains("This is a Nostr notification relay."))
            #expect(try await http(port, accept: "*/*", method: "HEAD").hasPrefix("HTTP/1.1 405"))
        }
        try await withServer { port in
            let answer = try await http(port, accept: "text/html", path: "/pages/")
            #expect(answer.contains("This is a Nostr notification relay."))
        }
    }

    @Test func relayDocumentDescribesItsRegistrationRequirements() async throws {
        try await ServedRelay.run { port, server in
            let path = "/push/notification-relay.json?x=1"
            #expect(try await http(port, accept: "*/*", path: path).hasPrefix("HTTP/1.1 404 Not Found"))
            let limits = PushTerms.Limits(
                devicesPerAccount: 1,
                registrationsPerHour: 2,
                registrationBurst: 3,
                contentBytes: 4,
                secondsAhead: 5,
                cooldownSeconds: 6,
                windowSeconds: 7,
                dailyCap: 8
            )
            var information = RelayInformation(
                name: "test",
                description: "a test",
                pubkey: "ab",
                version: "1.0",
                limits: RelayServerConfiguration.Limits()
            )
            information.termsOfService = "https://example.com/terms"
            information.createdAtUpperLimit = 900
            information.push = PushTerms(
                platforms: ["web"],
                limits: limits,
                apps: ["default": ["web": ["vapid_public_keys": ["B"]]]]
            )
            try server.inform(information, discovery: Array("{}".utf8))
            let answer = try await http(port, accept: "*/*", path: path)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK") && answer.hasSuffix("\r\n\r\n{}"))
            #expect(answer.contains("content-type: application/json"))
            #expect(answer.contains("access-control-allow-origin: *"))
            let body = try #require(
                try await http(port, accept: "application/nostr+json").components(separatedBy: "\r\n\r\n").last
            )
            #expect(
                body.contains(
                    #""push":{"apps":{"default":{"web":{"vapid_public_keys":["B"]}}},"limits":{"content_bytes":4,"#
                        + #""cooldown_seconds":6,"daily_cap":8,"devices_per_account":1,"registration_burst":3,"#
                        + #""registrations_per_hour":2,"seconds_ahead":5,"window_seconds":7},"platforms":["web"]}"#
                )
            )
            #expect(body.contains(#""terms_of_service":"https://example.com/terms""#))
            #expect(body.contains(#""created_at_upper_limit":900"#))
        }
    }

    @Test(arguments: [
        "sec-websocket-version: 8\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version: 13",
    ])
    func invalidUpgradeGetsAnHTTPResponse(_ fields: String) async throws {
        try await withServer { port in
            let upgrade = "text/html\r\nconnection: upgrade\r\nupgrade: websocket\r\n\(fields)"
            let answer = try await http(port, accept: upgrade)
            #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request"))
        }
    }

    private func http(_ port: Int, accept: String, path: String = "/", method: String = "GET") async throws -> String {
        try await answer(port, "\(method) \(path) HTTP/1.1\r\nhost: x\r\naccept: \(accept)\r\n\r\n")
    }

    /// Returns the server's response to these bytes, up to the end of the connection.
    private func answer(_ port: Int, _ request: String) async throws -> String {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let answer = Mutex("")
        do {
            try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: request))
                for try await part in inbound { answer.withLock { $0 += String(buffer: part) } }
            }
        } catch ChannelError.ioOnClosedChannel {
            // The server closes after its response, and may be faster than the client.
        }
        return answer.withLock(\.self)
    }
}

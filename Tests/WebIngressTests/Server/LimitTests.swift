import Core
import Foundation
import Listeners
import ListeningTestSupport
import Testing
import TimeTestSupport

@testable import WebIngress

@Suite struct LimitTests {
    private static let other = String(repeating: "cd", count: 32)

    private static func push(_ token: String = Samples.token, from address: String? = nil) -> String {
        "POST /push/\(token)/1 HTTP/1.1" + (address.map { "\r\nX-Forwarded-For: \($0)" } ?? "")
    }

    @Test func deviceHasABurstAndARate() async throws {
        let backend = RecordingBackend()
        let configuration = ServedIngress.configuration {
            $0.limits.deviceBurst = 2
            $0.limits.perDevicePerMinute = 1
        }
        try await ServedIngress.run(backend, configuration) { ingress in
            for _ in 0..<2 { #expect(try await ingress.status(Self.push()) == 202) }
            let refused = try await ingress.ask(Self.push())
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.lowercased().contains("retry-after: 60"))
            #expect(try await ingress.status(Self.push(Self.other)) == 202)
            ingress.clock.advance(by: .minutes(1))
            #expect(try await ingress.status(Self.push()) == 202)
            #expect(try await ingress.status(Self.push()) == 429)
            #expect(backend.pushes.count == 4)
            #expect(
                ingress.counts.refused == [
                    .device: 2, .connections: 0, .idle: 0, .requests: 0, .bytes: 0, .work: 0, .blocked: 0,
                ]
            )
        }
    }

    @Test func clientBehindAProxyHasItsOwnLimit() async throws {
        let configuration = ServedIngress.configuration {
            $0.limits.clientBurst = 1
            $0.limits.perClientPerSecond = 1
            $0.isTrustedProxy = { $0 == "127.0.0.1" }
        }
        try await ServedIngress.run(RecordingBackend(), configuration) { ingress async throws in
            #expect(try await ingress.status(Self.push(from: "192.0.2.1")) == 202)
            #expect(try await ingress.status(Self.push(from: "192.0.2.1")) == 429)
            #expect(try await ingress.status(Self.push(from: "192.0.2.1, 192.0.2.2")) == 202)
            ingress.clock.advance(by: .seconds(1))
            #expect(try await ingress.status(Self.push(from: "192.0.2.1")) == 202)
        }
    }

    @Test(arguments: [("GET / HTTP/1.1", 200), ("GET /nothing HTTP/1.1", 404), ("PUT / HTTP/1.1", 405)])
    func everyRequestCountsTowardsTheLimit(head: String, status: Int) async throws {
        let configuration = ServedIngress.configuration {
            $0.limits.clientBurst = 2
            $0.limits.perClientPerSecond = 1
            $0.isTrustedProxy = { $0 == "127.0.0.1" }
        }
        try await ServedIngress.run(RecordingBackend(), configuration) { ingress in
            let request = "\(head)\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 0\r\n\r\n"
            let connection = try await ingress.connect()
            await connection.send(String(repeating: request, count: 20))
            // A client that continues gets errors for a while, and then no responses.
            let answers = await connection.rest().components(separatedBy: "HTTP/1.1 ").dropFirst().map {
                String($0.prefix(3))
            }
            #expect(answers == Array(repeating: "\(status)", count: 2) + Array(repeating: "429", count: 8))
            #expect(ingress.counts.refused[.requests] == 9)
            #expect(try await ingress.status(Self.push(from: "192.0.2.2")) == 202)
            ingress.clock.advance(by: .seconds(1))
            #expect(try await ingress.status(Self.push(from: "192.0.2.1")) == 202)
        }
    }

    @Test func aClientThatBringsTooManyBytesLosesItsConnection() async throws {
        let configuration = ServedIngress.configuration {
            $0.limits.bytesPerClientPerSecond = 1_024
            $0.isTrustedProxy = { $0 == "127.0.0.1" }
        }
        let message = [UInt8](repeating: 1, count: 4_096)
        try await ServedIngress.run(RecordingBackend(), configuration) { ingress in
            for _ in 0..<2 { #expect(try await ingress.status(Self.push(from: "192.0.2.1"), message) == 202) }
            let connection = try await ingress.connect()
            await connection.send("\(Self.push(from: "192.0.2.1"))\r\nHost: a\r\nContent-Length: 4096\r\n\r\n")
            await connection.send(message)
            #expect(await connection.rest() == "")
            #expect(ingress.counts.refused[.bytes] ?? 0 >= 1)
            #expect(try await ingress.status(Self.push(from: "192.0.2.2"), message) == 202)
            ingress.clock.advance(by: .seconds(4))
            #expect(try await ingress.status(Self.push(from: "192.0.2.1"), message) == 202)
        }
    }

    @Test func loopbackHasNoLimitAndUntrustedHeadersAreIgnored() async throws {
        let configuration = ServedIngress.configuration {
            $0.limits.clientBurst = 1
            $0.limits.perClientPerSecond = 1
        }
        try await ServedIngress.run(RecordingBackend(), configuration) { ingress async throws in
            for _ in 0..<3 { #expect(try await ingress.status(Self.push(from: "192.0.2.1")) == 202) }
        }
    }

    @Test func idleConnectionIsEvictedForANewOne() async throws {
        try await ServedIngress.run(RecordingBackend(), ServedIngress.configuration { $0.limits.connections = 2 }) {
            ingress in
            let first = try await ingress.connect()
            await first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await first.status() == 200)
            let second = try await ingress.connect()
            await second.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await second.status() == 200)
            let third = try await ingress.connect()
            await third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await third.status() == 200)
            #expect(ingress.counts.refused[.idle] == 1 && ingress.counts.refused[.connections] == 0)
            for connection in [first, second, third] { await connection.close() }
        }
    }

    @Test func connectionWithoutAHeaderIsClosed() async throws {
        try await ServedIngress.run(
            RecordingBackend(),
            ServedIngress.configuration { $0.limits.idleTimeout = .seconds(1) }
        ) {
            ingress in
            let connection = try await ingress.connect()
            await connection.send("POST /push/")
            #expect(await connection.rest() == "")
        }
    }

    @Test func slowBodyIsCutOff() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend, ServedIngress.configuration { $0.limits.bodyTimeout = .seconds(1) }) {
            ingress in
            let connection = try await ingress.connect()
            await connection.send("\(Self.push())\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
            #expect(await connection.rest() == "")
            #expect(backend.pushes.isEmpty)
        }
    }

    @Test func endlessBodyEndsTheConnection() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend, ServedIngress.configuration { $0.limits.bodyBytes = ByteCount(10_000) }) {
            ingress in
            let connection = try await ingress.connect()
            await connection.send("\(Self.push())\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "a", count: 0x1000) + "\r\n"
            for _ in 0..<3 { await connection.send(chunk) }
            #expect(await connection.rest() == "")
            #expect(backend.pushes.isEmpty)
        }
    }

    @Test(arguments: ["Content-Length: 100\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"])
    func incompleteBodyIsNotAMessage(rest: String) async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress in
            let connection = try await ingress.connect()
            await connection.send("\(Self.push())\r\nHost: a\r\n\(rest)")
            await connection.finish()
            #expect(await !connection.rest().contains(" 202 "))
            #expect(backend.pushes.isEmpty)
        }
    }

    @Test(arguments: [
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}", "GET\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "GET / HTTP/1.1\r\nA: \u{0}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nA: \(String(repeating: "a", count: 20_000))\r\n\r\n",
        "GET / HTTP/1.1\r\n\(String(repeating: "A: a\r\n", count: 200))\r\n",
        "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /push/\(Samples.token)/1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func nonHTTPDataDoesNotAffectOthers(bytes: String) async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress in
            let connection = try await ingress.connect()
            await connection.send(bytes)
            let answer = await connection.rest()
            #expect(answer == "" || answer.hasPrefix("HTTP/1.1 400 "), "\(answer.prefix(40))")
            #expect(backend.pushes.isEmpty)
            #expect(try await ingress.status("GET / HTTP/1.1") == 200)
            await connection.close()
        }
    }
}

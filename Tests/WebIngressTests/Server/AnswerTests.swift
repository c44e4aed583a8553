import Cipher
import Core
import Dispatch
import ListeningTestSupport
import Push
import Testing
import TimeTestSupport

@testable import WebIngress

@Suite struct AnswerTests {
    private static let push = "POST /push/\(Samples.token)/account HTTP/1.1"

    @Test func rootPathAnswers200() async throws {
        try await ServedIngress.run { ingress in
            #expect(try await ingress.status("GET / HTTP/1.1") == 200)
            #expect(try await ingress.status("HEAD / HTTP/1.1") == 200)
            #expect(try await ingress.status("GET /nothing HTTP/1.1") == 404)
            #expect(try await ingress.status("POST /push/xyz/account HTTP/1.1") == 404)
            let wrong = try await ingress.ask("GET /push/\(Samples.token)/account HTTP/1.1")
            #expect(wrong.hasPrefix("HTTP/1.1 405 ") && wrong.lowercased().contains("\r\nallow: post"))
        }
    }

    /// Facts 4.6: Mastodon's requests.
    @Test func mastodonsMessageIsUnchanged() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress in
            let key = Base64URL.encode(Samples.senderKey)
            let head = """
                POST /push/\(Samples.token.uppercased())/account?sandbox=true HTTP/1.1\r
                Content-Type: application/octet-stream\r
                Content-Encoding: aesgcm\r
                Encryption: salt=\(Base64URL.encode(Samples.salt))\r
                Crypto-Key: dh=\(key);p256ecdsa=\(key)\r
                Authorization: WebPush eyJ0eXAiOiJKV1QifQ.e30.c2ln\r
                Ttl: 172800\r
                Urgency: high\r
                Unsubscribe-URL: https://social.example/unsubscribe
                """
            #expect(try await ingress.status(head, [UInt8](repeating: 9, count: 20)) == 202)
            let push = try #require(backend.pushes.first)
            #expect(backend.pushes.count == 1)
            #expect(push.deviceToken == Samples.token && push.isSandbox)
            #expect(push.notification.urgency == .high)
            #expect(push.notification.expiresAt == ingress.clock.time + .days(2))
            #expect(
                push.notification.data
                    == #"{"i":"account","k":"\#(key)","m":"CQkJCQkJCQkJCQkJCQkJCQkJCQk=","s":"AAECAwQFBgcICQoLDA0ODw"}"#
            )
        }
    }

    @Test func parametersMayComeOnSeveralLines() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress async throws in
            let head = """
                \(Self.push)\r
                crypto-key: p256ecdsa="xyz"\r
                CRYPTO-KEY: dh="\(Base64URL.encodePadded(Samples.senderKey))"\r
                encryption: rs=4096 ; salt="\(Base64URL.encodePadded(Samples.salt))"
                """
            #expect(try await ingress.status(head, [UInt8](repeating: 9, count: 20)) == 202)
            #expect(backend.pushes.first?.notification.data.contains(#""m":"CQkJ"#) == true)
        }
    }

    @Test func aMessageInPiecesIsOneMessage() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress in
            let connection = try await ingress.connect()
            let chunked = "\(Self.push)\r\nHost: a\r\nContent-Encoding: aes128gcm\r\nTransfer-Encoding: chunked\r\n\r\n"
            for byte in Array(chunked.utf8) { await connection.send([byte]) }
            for byte in Samples.standardBody {
                await connection.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8))
            }
            await connection.send("0\r\n\r\n")
            #expect(try await connection.status() == 202)
            #expect(backend.pushes.first?.notification.data.contains(#""e":"aes128gcm""#) == true)
            // The connection stays open.
            await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.status() == 200)
            await connection.close()
        }
    }

    @Test func requestsThatComeTogetherAreAnsweredInTheirOrder() async throws {
        try await ServedIngress.run { ingress in
            let connection = try await ingress.connect()
            let request = "\(Self.push)\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
            await connection.send(request + "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n" + request)
            let statuses = try await connection.heads(3).map { $0.split(separator: " ")[1] }
            #expect(statuses == ["202", "404", "202"])
            await connection.close()
        }
    }

    @Test(arguments: ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n"])
    func requestMustNameExactlyOneHost(_ fields: String) async throws {
        try await ServedIngress.run { ingress in
            let connection = try await ingress.connect()
            let good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            await connection.send(good + "GET / HTTP/1.1\r\n\(fields)\r\n" + good)
            let answers = await connection.rest().matches(of: #/HTTP/1\.1 (\d{3}) /#).map { String($0.1) }
            #expect(answers == ["200", "400"])
        }
    }

    @Test func aRequestOfHTTP10NeedsNoHost() async throws {
        try await ServedIngress.run { ingress in
            let connection = try await ingress.connect()
            await connection.send("GET / HTTP/1.0\r\n\r\n")
            #expect(try await connection.status() == 200)
            await connection.close()
        }
    }

    /// The backend's result, the sender's status, and whether the sender gets a Retry-After.
    @Test(arguments: [
        (IngressAnswer.queued, 202, false), (.busy, 503, true), (.gone, 410, false), (.unknownDevice, 404, false),
        (.mistrusted, 429, true),
    ])
    func senderGetsTheResultsStatus(answer: IngressAnswer, status: Int, isAskedAgain: Bool) async throws {
        try await ServedIngress.run(RecordingBackend { _ in answer }) { ingress in
            let head = try await ingress.ask(Self.push)
            #expect(head.hasPrefix("HTTP/1.1 \(status) "))
            #expect(head.lowercased().contains("\r\nretry-after: ") == isAskedAgain)
            #expect(head.lowercased().contains("\r\ncontent-length: 0"))
        }
    }

    @Test func undecryptableOrTooLargePushIsAccepted() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress async throws in
            #expect(try await ingress.status(Self.push) == 202)
            #expect(try await ingress.status(Self.push, [1, 2, 3]) == 202)
            #expect(try await ingress.status(Self.push, [UInt8](repeating: 1, count: 500_000)) == 202)
            #expect(backend.pushes.map(\.notification.data) == Array(repeating: #"{"i":"account"}"#, count: 3))
        }
    }

    @Test func waitingMessagesAreStoredTogether() async throws {
        let backend = RecordingBackend(isDoorShut: true)
        try await ServedIngress.run(backend, ServedIngress.configuration { $0.limits.waiting = 3 }) { ingress in
            let first = try await ingress.connect()
            await first.send("\(Self.push)\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            await backend.someoneWaits()
            // There is capacity for three of these.
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<5 { group.addTask { try await ingress.status(Self.push) } }
                var statuses: [Int] = []
                for try await status in group {
                    statuses.append(status)
                    // The two rejected requests are answered first; then both batches continue.
                    if statuses.count == 2 {
                        backend.door.signal()
                        backend.door.signal()
                    }
                }
                return statuses
            }
            #expect(statuses == [503, 503, 202, 202, 202])
            #expect(try await first.status() == 202)
            #expect(backend.kept.map(\.count) == [1, 3])
            await first.close()
        }
    }

    @Test func expectContinueGetsAContinue() async throws {
        let backend = RecordingBackend()
        try await ServedIngress.run(backend) { ingress in
            let connection = try await ingress.connect()
            for _ in 1...2 {
                let head = "\(Self.push)\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n"
                await connection.send(head)
                #expect(try await connection.heads() == ["HTTP/1.1 100 Continue"])
                await connection.send([1, 2, 3])
                #expect(try await connection.status() == 202)
            }
            #expect(backend.pushes.count == 2)
            await connection.close()
        }
    }

    @Test func pipelinedRequestWaitsForThePreviousResponse() async throws {
        let backend = RecordingBackend(isDoorShut: true)
        try await ServedIngress.run(backend) { ingress in
            let connection = try await ingress.connect()
            let expecting = "\(Self.push)\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
            await connection.send("\(Self.push)\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" + expecting)
            await backend.someoneWaits()
            backend.door.signal()
            backend.door.signal()
            let heads = try await connection.heads(2)
            #expect(heads.allSatisfy { $0.hasPrefix("HTTP/1.1 202") })
            await connection.close()
        }
    }
}

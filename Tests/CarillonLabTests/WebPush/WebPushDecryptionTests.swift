import CarillonLab
import Testing

/// Uses the example of RFC 8291, section 5 and appendix A.
struct WebPushDecryptionTests {
    private static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

    private let topic = "upRFC8291vector"

    private func receiver() throws -> WebPushReceiver { try WebPushBench.receiver(topic) }

    private func send(_ body: [UInt8], to lab: Lab, encoding: String = "aes128gcm") async throws -> ReceivedRequest {
        let url = try #require(lab.unifiedPushURL) + "/" + topic + "?up=1"
        let answer = try await Curl.run(
            url,
            "-H",
            "Content-Encoding: \(encoding)",
            "--data-binary",
            "@-",
            "-H",
            "TTL: 0",
            input: body
        )
        #expect(answer.status == 200)
        return try await lab.next()
    }

    @Test func theExampleOfRFC8291IsRead() async throws {
        let lab = try await Lab.start()
        try lab.declare(receiver())
        let request = try await send(WebPushBench.encrypted(), to: lab)
        #expect(request.decrypted == Array(WebPushBench.message.utf8))
        #expect(request.detail == nil)
        #expect(request.body == (try WebPushBench.encrypted()))
        #expect(try receiver().publicKeys().p256dh == Self.publicKey)
        #expect(try receiver().publicKeys().auth == WebPushBench.auth)
        await lab.shutdown()
    }

    @Test func reasonForUndecryptableMessageIsRecorded() async throws {
        var configuration = LabConfiguration()
        configuration.unifiedPush?.receivers = [try receiver()]
        let lab = try await Lab.start(configuration)
        let good = try WebPushBench.encrypted()
        var tampered = good
        tampered[good.count - 1] ^= 1
        var offCurve = good
        offCurve[30] ^= 1
        var manyRecords = good
        manyRecords.replaceSubrange(16..<20, with: [0, 0, 0, 20])
        for body in [tampered, offCurve, manyRecords, Array(good.prefix(86)), [1, 2, 3]] {
            let request = try await send(body, to: lab)
            #expect(request.decrypted == nil)
            #expect(request.detail?.hasPrefix("the device cannot read it") == true)
        }
        let plain = try await send(good, to: lab, encoding: "identity")
        #expect(plain.detail?.contains("no Content-Encoding") == true)
        await lab.shutdown()
    }

    @Test func newReceiversHaveKeysOfTheirOwn() throws {
        let first = WebPushReceiver(topic: topic)
        let second = WebPushReceiver(topic: topic)
        #expect(try first.publicKeys().p256dh != second.publicKeys().p256dh)
        #expect(try WebPushBench.bytes(first.publicKeys().p256dh).count == 65)
        #expect(first.auth.count == 16)
    }
}

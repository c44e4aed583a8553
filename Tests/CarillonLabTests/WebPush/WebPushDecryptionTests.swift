import CarillonLab
import Foundation
import Testing

/// With the example of RFC 8291, section 5 and appendix A.
struct WebPushDecryptionTests {
    private static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    private static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    private static let body = """
        DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl\
        7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
        """

    private let topic = "upRFC8291vector"

    private func bytes(_ text: String) throws -> [UInt8] {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Array(try #require(Data(base64Encoded: standard + padding)))
    }

    private func receiver() throws -> WebPushReceiver {
        WebPushReceiver(topic: topic, privateKey: try bytes(Self.privateKey), auth: try bytes(Self.auth))
    }

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
        let request = try await send(try bytes(Self.body), to: lab)
        #expect(
            request.decrypted.map { String(decoding: $0, as: UTF8.self) } == "When I grow up, I want to be a watermelon"
        )
        #expect(request.detail == nil)
        #expect(request.body == (try bytes(Self.body)))
        #expect(try receiver().publicKeys().p256dh == Self.publicKey)
        #expect(try receiver().publicKeys().auth == Self.auth)
        await lab.shutdown()
    }

    @Test func whatTheDeviceCouldNotReadIsNamed() async throws {
        var configuration = LabConfiguration()
        configuration.unifiedPush?.receivers = [try receiver()]
        let lab = try await Lab.start(configuration)
        let good = try bytes(Self.body)
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
        #expect(try bytes(first.publicKeys().p256dh).count == 65)
        #expect(first.auth.count == 16)
    }
}

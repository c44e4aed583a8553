import Cipher
import Core

@testable import WebIngress

/// Messages as senders send them. Their keys are invalid, because these tests do not decrypt.
enum Samples {
    static let platform = IngressPlatform(
        name: "ios",
        block: #"{"alert":{"loc-key":"{{loc_key}}"},"mutable-content":1}"#,
        limit: .kibibytes(4)
    )
    static let token = String(repeating: "0123456789abcdef", count: 4)
    static let salt = [UInt8](0..<16)
    static let senderKey = [0x04] + [UInt8](100..<164)
    /// RFC 8291 section 5, with line breaks removed.
    static let standardBody =
        Base64URL.decode(
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6c"
                + "VPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        ) ?? []
    static let standardSalt = "DGv6ra1nlYgDCS1FRnbzlw"
    static let standardKey =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"

    /// As Mastodon sends it.
    static func legacy(_ body: [UInt8] = [UInt8](repeating: 0xAB, count: 100)) -> PushRequest {
        PushRequest(
            contentEncoding: ["aesgcm"],
            encryption: ["salt=\(Base64URL.encode(salt))"],
            cryptoKey: ["dh=\(Base64URL.encode(senderKey));p256ecdsa=\(Base64URL.encode(senderKey.reversed()))"],
            body: body
        )
    }

    static let standard = PushRequest(contentEncoding: ["aes128gcm"], body: standardBody)
}

import Cipher

/// The words that keep connections apart. The host keeps those of different apps apart by itself.
enum ConnectionWord {
    /// The host takes 128 bytes; what is cut off distinguishes nothing, since an app has but one bundle id.
    private static let longestTopic = 72

    /// Of all requests with provider tokens of a key. `generation` grows when those connections are to be left.
    static func token(teamID: String, keyID: String, bundleID: String, generation: Int) -> String {
        "\(teamID).\(keyID).\(bundleID.prefix(longestTopic)).\(generation)"
    }

    /// Of all requests that go by a certificate with this fingerprint.
    static func certificate(fingerprint: [UInt8], bundleID: String) -> String {
        "certificate.\(Hex.encode(fingerprint.prefix(8))).\(bundleID.prefix(longestTopic))"
    }
}

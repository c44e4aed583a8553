import Cipher
internal import PluginKit

/// Tells push services who sends (RFC 8292): a JSON Web Token for one origin, signed with the key that the browser was
/// given when it subscribed.
package struct VAPIDToken: Sendable {
    private static let header = Base64URL.encode([UInt8](#"{"typ":"JWT","alg":"ES256"}"#.utf8))

    private let key: P256PrivateKey
    private let subject: String
    /// The uncompressed point: 65 bytes.
    let point: [UInt8]
    /// What browsers subscribe with, `applicationServerKey`: the uncompressed point in base64url, 87 characters.
    package let publicKey: String

    /// `subject` is a `mailto:` or `https:` URL under which push services find the operator.
    init(key: P256PrivateKey, subject: String) {
        self.key = key
        self.subject = subject
        point = key.publicKey.x963Representation
        publicKey = Base64URL.encode(point)
    }

    /// The value of `Authorization` for an origin, good until `expiry`, in seconds since 1970. Throws only when signing
    /// fails.
    func authorization(for origin: String, expiry: Int64) throws -> String {
        var claims = JSONWriter(reservingBytes: 192)
        claims.beginObject()
        claims.key("aud")
        claims.string(origin)
        claims.key("exp")
        claims.integer(expiry)
        claims.key("sub")
        claims.string(subject)
        claims.endObject()
        let signed = "\(Self.header).\(Base64URL.encode(claims.bytes))"
        let signature = Base64URL.encode(try key.signES256([UInt8](signed.utf8)))
        return "vapid t=\(signed).\(signature),k=\(publicKey)"
    }
}

import PlatformTestSupport
import Push

@testable import Registry

/// Registrations as clients send them.
enum Samples {
    /// The user agent's public key and authentication secret of RFC 8291 section 5.
    static let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let otherAuth = "AAAAAAAAAAAAAAAAAAAAAA"

    static func web(
        platform: String = "web",
        endpoint: String = "https://push.example.com/abc",
        p256dh: String = p256dh,
        auth: String = auth,
        further: String = ""
    ) -> String {
        """
        {"platform":"\(platform)","subscription":{"endpoint":"\(endpoint)","expirationTime":null,
        "keys":{"p256dh":"\(p256dh)","auth":"\(auth)"}}\(further)}
        """
    }

    static func topic(
        _ url: String = "https://ntfy.sh/alerts",
        platform: String = "ntfy",
        further: String = ""
    ) -> String {
        #"{"platform":"\#(platform)","push_endpoint":"\#(url)"\#(further)}"#
    }

    static func phone(_ token: String, further: String = "") -> String {
        #"{"platform":"ios","token":"\#(token)"\#(further)}"#
    }
}

extension RegistrationContent {
    /// Reads a registration as the built-in transports describe theirs.
    init(_ json: String, checkingSignals: SignalCheck = { _ in nil }) throws(RegistrationError) {
        try self.init(json: json, platforms: .builtIn, checkingSignals: checkingSignals)
    }
}

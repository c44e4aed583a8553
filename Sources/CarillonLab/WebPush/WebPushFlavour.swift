/// Whose push service a subscription is at: its rules, its paths, and the form of its refusals.
public enum WebPushFlavour: String, Sendable, Hashable, Codable, CaseIterable {
    /// `updates.push.services.mozilla.com`: `{"code":401,"errno":109,…}`.
    case mozilla
    /// `web.push.apple.com`: `{"reason":"BadJwtToken"}`.
    case apple
    /// `*.notify.windows.com`: what happened stands in headers.
    case wns
    /// `fcm.googleapis.com`: a sentence.
    case fcm
    /// RFC 8030 and no more: a status without a body.
    case plain

    /// Where endpoints are; the subscription's id comes after it.
    var folder: String {
        switch self {
        case .mozilla: "/wpush/v2/"
        case .apple: "/push/"
        case .plain: "/plain/"
        case .wns: "/w/?token="
        case .fcm: "/fcm/send/"
        }
    }

    /// In bytes.
    var bodyLimit: Int { self == .wns ? 5_000 : 4_096 }

    /// TTL 0, deliver now or never, is none.
    var wantsPositiveTTL: Bool { self == .apple }

    /// Also from somebody whose subscription belongs to nobody's key.
    var alwaysWantsVAPID: Bool { self == .apple || self == .fcm || self == .wns }

    /// The token has to name a contact.
    var wantsSubject: Bool { self == .apple }

    /// Urgency is one of the RFC's words. Mozilla's service reads it without a check.
    var checksUrgency: Bool { self != .mozilla }
}

import Cipher
import Core
import PluginKit

/// A notification in Apple's format, without recipient and credentials.
struct Push: Sendable {
    /// Apple's limit for `apns-collapse-id`, in bytes.
    private static let collapseIDLimit = 64

    let type: PushType
    let priority: Priority
    let payload: [UInt8]
    /// Pushes with the same id replace each other on the device. Only for alerts.
    let collapseID: String?
    /// `apns-expiration`, in seconds since 1970; 0: one attempt.
    let expiration: Int64
    /// `apns-id`, the same for all attempts; nil if Apple would refuse it.
    let id: String?

    /// Makes a push; `lifetime` is how long Apple stores it if the notification has no expiration.
    init(
        _ notification: borrowing Notification,
        as type: PushType,
        _ priority: Priority,
        _ payload: [UInt8],
        lifetime: Duration? = nil,
        now: Timestamp
    ) {
        self.type = type
        self.priority = priority
        self.payload = payload
        collapseID =
            type == .alert
            ? notification.collapseKey.headerValue(limit: Push.collapseIDLimit) { Base64URL.encode(SHA256.hash($0)) }
            : nil
        let expiresAt = notification.expiresAt ?? now + (lifetime ?? type.lifetime)
        // An expired push gets one attempt: 0.
        expiration = expiresAt > now ? expiresAt.seconds : 0
        id = MessageID.isCanonical(notification.id) ? notification.id.string : nil
    }

    private init(_ other: Push, expiration: Int64) {
        type = other.type
        priority = other.priority
        payload = other.payload
        collapseID = other.collapseID
        self.expiration = expiration
        id = other.id
    }

    /// The same push, which Apple does not store for offline devices.
    var unkept: Push { Push(self, expiration: 0) }

    static func wake(_ notification: borrowing Notification, now: Timestamp) throws(PayloadError) -> Push {
        Push(notification, as: .background, .considerate, try WakePayload.make(notification), now: now)
    }

    /// Returns a visible push without author and content, or nil without a text: an app extension runs only for an
    /// alert with text.
    static func nudge(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ payloads: RepeatedPayload,
        now: Timestamp
    ) throws(PayloadError) -> Push? {
        guard notification.hasText else { return nil }
        return try alert(notification, block, payloads, now: now)
    }

    /// Returns the sealed envelope, with a neutral text if there is one. Nil if there is no envelope.
    static func sealed(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ payloads: RepeatedPayload,
        now: Timestamp
    ) throws(PayloadError) -> Push? {
        guard !notification.sealed.isEmpty else { return nil }
        guard notification.hasText else {
            return Push(notification, as: .background, .considerate, try SealedPayload.make(notification), now: now)
        }
        return try alert(notification, block, payloads, now: now)
    }

    /// Returns the whole notification as an alert. `payloads` caches payloads of alerts only.
    static func alert(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ payloads: RepeatedPayload,
        now: Timestamp
    ) throws(PayloadError) -> Push {
        // The block depends on the notification too.
        let payload = try payloads.payload(of: notification) { () throws(PayloadError) in
            try NotificationPayload.make(notification, block, as: .alert)
        }
        let priority = block.priority ?? .usual(for: .alert, notification.urgency)
        return Push(notification, as: .alert, priority, payload, now: now)
    }

    /// Returns the whole notification as a push of a type other than alert and Live Activity. Nil if the registration
    /// lacks a field that the type needs.
    static func other(
        _ type: PushType,
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ registration: borrowing Registration,
        now: Timestamp
    ) throws(PayloadError) -> Push? {
        let payload: [UInt8]
        switch type {
        case .widgets, .controls: payload = ContentChangedPayload.bytes
        case .mdm:
            guard let made = MDMPayload.make(registration) else { return nil }
            payload = made
        default: payload = try NotificationPayload.make(notification, block, as: type)
        }
        let priority = block.priority ?? .usual(for: type, notification.urgency)
        return Push(notification, as: type, priority.allowed(for: type), payload, now: now)
    }

    /// Returns a start, update or end of a Live Activity. `limit` is the largest payload, in bytes.
    static func liveActivity(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ activity: LiveActivity,
        limit: Int = PushType.liveActivity.payloadLimit,
        lifetime: Duration? = nil,
        now: Timestamp
    ) throws(PayloadError) -> Push {
        let usual = activity.alerts ? Priority.immediate : .usual(for: .liveActivity, notification.urgency)
        return Push(
            notification,
            as: .liveActivity,
            (block.priority ?? usual).allowed(for: .liveActivity),
            try LiveActivityPayload.make(notification, block, activity, limit: limit, now: now),
            lifetime: lifetime,
            now: now
        )
    }
}

extension Notification {
    /// Whether an alert would have a text.
    var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}

/// The values of `apns-push-type` ("Sending notification requests to APNs").
enum PushType: String, Sendable, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// The part of the topic after the app's bundle id.
    var topicSuffix: String {
        switch self {
        // For device management, the certificate names the whole topic.
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .liveActivity: ".push-type.liveactivity"
        case .pushToTalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// Whether pushes of this type go to a separate token.
    var hasOwnToken: Bool { self != .alert && self != .background }

    /// Whether the payload contains the texts, for the system or for the app.
    var carriesTexts: Bool {
        switch self {
        case .alert, .voip, .complication, .pushToTalk: true
        case .background, .location, .fileProvider, .mdm, .liveActivity, .widgets, .controls: false
        }
    }

    /// The largest payload, in bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// How long Apple stores a push without an expiration. Zero for calls and voice messages, which are useless later.
    /// Apple stores only the latest push.
    var lifetime: Duration { self == .voip || self == .pushToTalk ? .zero : Self.day }

    private static let day: Duration = .days(1)

    /// The reason of an outcome if a token of this type is dead and no alert can replace the push.
    var reasonOfDeadToken: String {
        self == .liveActivity ? "live-activity-ended" : "\(rawValue)-token-dead"
    }
}

/// The values of `apns-priority`.
enum Priority: Int, Sendable {
    /// Saves the device's power; the device does not wake up.
    case low = 1
    case considerate = 5
    case immediate = 10

    var headerValue: String {
        switch self {
        case .low: "1"
        case .considerate: "5"
        case .immediate: "10"
        }
    }

    /// This priority, or the closest that Apple accepts for pushes of a type.
    func allowed(for type: PushType) -> Priority {
        switch type {
        case .background: .considerate
        case .liveActivity: self == .low ? .considerate : self
        case .pushToTalk: .immediate
        case .alert, .location, .voip, .complication, .fileProvider, .mdm, .widgets, .controls: self
        }
    }

    /// Returns the priority for rules that set none. For types with a budget the device chooses the time.
    static func usual(for type: PushType, _ urgency: Urgency) -> Priority {
        switch type {
        case .alert: urgency == .low ? .considerate : .immediate
        case .location, .voip, .complication, .mdm, .pushToTalk: .immediate
        case .background: .considerate
        case .fileProvider, .liveActivity, .widgets, .controls: urgency == .high ? .immediate : .considerate
        }
    }
}

/// A background push with only the signal and the count (contrib/docs/rules.md, "What an app receives").
enum WakePayload {
    static func make(_ notification: borrowing Notification) throws(PayloadError) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 128)
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("content-available")
        writer.integer(1)
        writer.endObject()
        writer.signal(of: notification)
        writer.endObject()
        guard writer.bytes.count <= PushType.background.payloadLimit else { throw .tooLarge }
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes the signal (`t`) and the number of events of a batch (`n`), except members that `data` has.
    mutating func signal(of notification: borrowing Notification, unlessIn data: JSONObject = JSONObject()) {
        let isBatch = notification.count > 1
        if !data.contains("t") {
            key("t")
            if isBatch { string("batch") } else { string(notification.signal) }
        }
        if isBatch, !data.contains("n") {
            key("n")
            integer(notification.count)
        }
    }
}

/// A background push with the envelope, for notifications without a visible text.
enum SealedPayload {
    static func make(_ notification: borrowing Notification) throws(PayloadError) -> [UInt8] {
        guard let sealed = try? notification.sealed.jsonObject() else { throw .badSealed }
        var writer = JSONWriter(reservingBytes: notification.sealed.count + 64)
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("content-available")
        writer.integer(1)
        writer.endObject()
        writer.key("sealed")
        writer.object(sealed)
        writer.endObject()
        guard writer.bytes.count <= PushType.background.payloadLimit else { throw .tooLarge }
        return writer.bytes
    }
}

/// A push that makes a managed device contact its server. It contains only the device's push magic.
enum MDMPayload {
    /// Returns nil if the registration has no push magic.
    static func make(_ registration: borrowing Registration) -> [UInt8]? {
        guard let magic = registration.field(DeviceTokens.pushMagic),
            DeviceTokens.pushMagicLengths.contains(magic.count)
        else { return nil }
        var writer = JSONWriter(reservingBytes: 64)
        writer.beginObject()
        writer.member("mdm", magic)
        writer.endObject()
        return writer.bytes
    }
}

/// A push that makes widgets or controls reload. Only the system reads it (Apple, "Updating widgets with WidgetKit push
/// notifications", "Updating controls locally and remotely").
enum ContentChangedPayload {
    static let bytes = [UInt8](#"{"aps":{"content-changed":true}}"#.utf8)
}

import PluginKit

/// The rule's block for this platform: Apple's own keys for `aps`, and keys that control the push
/// (contrib/docs/rules.md, "A platform's own keys").
///
/// Its members are keys of `aps`, except `push-type` (a ``PushType``), `priority` (1, 5, 10), `actions` (an object with
/// the targets of a predefined category's buttons) and `_k` (the notification's id for the app). `events` is an alias
/// of `event` that other senders use.
final class NativeBlock: Sendable {
    static let empty = NativeBlock()

    /// The push type that the block states.
    let statedType: PushType?
    let priority: Priority?
    let alert: NativeAlert
    /// Members that are copied to an alert's `aps` unchanged.
    let members: JSONObject
    let mutableContent: JSONValue?
    let hasSoundOrBadge: Bool
    let isContentAvailable: Bool
    /// Whether the block has `content-available` with a value other than 1.
    private let isNotContentAvailable: Bool
    let actions: JSONValue?
    let notificationID: JSONValue?
    /// Whether the block names a category of buttons; apps then expect `_k`.
    private let hasCategory: Bool
    let liveActivity: LiveActivity?

    private init() {
        statedType = nil
        priority = nil
        alert = NativeAlert()
        members = JSONObject()
        mutableContent = nil
        hasSoundOrBadge = false
        isContentAvailable = false
        isNotContentAvailable = false
        actions = nil
        notificationID = nil
        hasCategory = false
        liveActivity = nil
    }

    /// Throws ``PayloadError/badNative`` unless `text` is an object that Apple would accept.
    init(_ text: BorrowedText) throws(PayloadError) {
        guard let block = try? text.jsonObject() else { throw .badNative }
        statedType = try NativeBlock.statedType(block)
        priority = try NativeBlock.priority(block)
        liveActivity = try LiveActivity(block, isStated: statedType == .liveActivity)
        alert = try NativeAlert(block["alert"], ofLiveActivity: liveActivity != nil)
        mutableContent = block["mutable-content"]
        hasSoundOrBadge = block.contains("sound") || block.contains("badge")
        isContentAvailable = block["content-available"]?.integer == 1
        isNotContentAvailable = block.contains("content-available") && !isContentAvailable
        actions = block["actions"]
        notificationID = block["_k"]
        hasCategory = block["category"]?.string?.isEmpty == false
        // `content-changed` is written for widgets and controls only.
        var steering: [StaticString] = [
            "push-type", "priority", "actions", "_k", "alert", "mutable-content", "content-changed",
        ]
        if liveActivity != nil {
            steering += LiveActivity.keys
        }
        members = block.removing(steering)
        try refuseContradictions()
    }

    /// Whether the block names a target other than the notification's URL.
    var opensSomething: Bool { actions != nil || notificationID != nil || hasCategory }

    /// Returns the type of push: the one that the block states, or the one that fits the payload.
    func pushType(hasText: Bool) -> PushType {
        if let statedType { return statedType }
        if liveActivity != nil { return .liveActivity }
        let isVisible = hasText || alert.isVisible || hasSoundOrBadge
        return isContentAvailable && !isVisible ? .background : .alert
    }

    private func refuseContradictions() throws(PayloadError) {
        if statedType == .background, alert.isVisible || hasSoundOrBadge || isNotContentAvailable { throw .badNative }
        if let statedType, statedType != .liveActivity, liveActivity != nil { throw .badNative }
        if let actions, !actions.isObject { throw .badNative }
        if let notificationID, !notificationID.isString { throw .badNative }
    }

    private static func statedType(_ block: JSONObject) throws(PayloadError) -> PushType? {
        guard let value = block["push-type"] else { return nil }
        guard let type = value.string.flatMap(PushType.init(rawValue:)) else { throw .badNative }
        return type
    }

    private static func priority(_ block: JSONObject) throws(PayloadError) -> Priority? {
        guard let value = block["priority"] else { return nil }
        guard let priority = value.integer.flatMap({ Priority(rawValue: Int($0)) }) else { throw .badNative }
        return priority
    }
}

/// The block's `alert`: a text that replaces our texts, or an object whose members replace ours one by one.
struct NativeAlert: Sendable {
    /// The whole alert.
    let text: JSONValue?
    let title: JSONValue?
    let subtitle: JSONValue?
    let body: JSONValue?
    /// Texts that the app looks up itself (`title-loc-key`, `subtitle-loc-key`, `loc-key`).
    let localizesTitle: Bool
    let localizesSubtitle: Bool
    let localizesBody: Bool
    /// The sound of a Live Activity, which is part of its alert.
    let sound: JSONValue?
    /// All other members.
    let members: JSONObject

    /// Whether the alert shows anything without our texts.
    var isVisible: Bool {
        text != nil || title != nil || subtitle != nil || body != nil || !members.isEmpty
    }

    init() {
        self.init(JSONObject(), text: nil, ofLiveActivity: false)
    }

    /// Throws ``PayloadError/badNative`` unless the value is a string or an object.
    init(_ value: JSONValue?, ofLiveActivity: Bool) throws(PayloadError) {
        guard let value else {
            self.init()
            return
        }
        if value.isString {
            self.init(JSONObject(), text: value, ofLiveActivity: ofLiveActivity)
        } else {
            guard let object = value.object else { throw .badNative }
            self.init(object, text: nil, ofLiveActivity: ofLiveActivity)
        }
    }

    private init(_ object: JSONObject, text: JSONValue?, ofLiveActivity: Bool) {
        self.text = text
        title = object["title"]
        subtitle = object["subtitle"]
        body = object["body"]
        localizesTitle = object.contains("title-loc-key")
        localizesSubtitle = object.contains("subtitle-loc-key")
        localizesBody = object.contains("loc-key")
        sound = ofLiveActivity ? object["sound"] : nil
        members = object.removing(["title", "subtitle", "body"] + (ofLiveActivity ? ["sound"] : []))
    }
}

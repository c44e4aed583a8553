import PluginKit

/// The rule's block for this platform, read: Apple's own keys for `aps` (seed 003), and what steers the push.
///
/// Its members are keys of `aps`, but for `push-type` (one of ``PushType``), `priority` (1, 5, 10), `actions` (an object:
/// what the buttons of a predefined category open, seed 002) and `_k` (the notification's name for the app). `events` is
/// accepted for `event`, as seed 003 calls it.
final class NativeBlock: Sendable {
    static let empty = NativeBlock()

    /// The push type that the block asks for.
    let statedType: PushType?
    let priority: Priority?
    let alert: NativeAlert
    /// What an alert's `aps` takes over as it is.
    let members: JSONObject
    let mutableContent: JSONValue?
    let hasSoundOrBadge: Bool
    let isContentAvailable: Bool
    /// It says so.
    private let isNotContentAvailable: Bool
    let actions: JSONValue?
    let notificationID: JSONValue?
    /// Whether it names a category of buttons, with which apps expect `_k` (seed 002).
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

    /// Throws ``PayloadMistake/badNative`` for what is no object, or asks for what Apple would refuse.
    init(_ text: BorrowedText) throws(PayloadMistake) {
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
        // Widgets and controls get theirs by themselves.
        var steering: [StaticString] = [
            "push-type", "priority", "actions", "_k", "alert", "mutable-content", "content-changed",
        ]
        if liveActivity != nil {
            steering += LiveActivity.keys
        }
        members = block.removing(steering)
        try refuseContradictions()
    }

    /// Whether the app is told of something to open beside the notification's URL.
    var opensSomething: Bool { actions != nil || notificationID != nil || hasCategory }

    /// What Apple gets for a notification that has a text of its own, or not: what the block says, or what the payload
    /// will be.
    func pushType(hasText: Bool) -> PushType {
        if let statedType { return statedType }
        if liveActivity != nil { return .liveActivity }
        let isVisible = hasText || alert.isVisible || hasSoundOrBadge
        return isContentAvailable && !isVisible ? .background : .alert
    }

    private func refuseContradictions() throws(PayloadMistake) {
        if statedType == .background, alert.isVisible || hasSoundOrBadge || isNotContentAvailable { throw .badNative }
        if let statedType, statedType != .liveActivity, liveActivity != nil { throw .badNative }
        if let actions, !actions.isObject { throw .badNative }
        if let notificationID, !notificationID.isString { throw .badNative }
    }

    private static func statedType(_ block: JSONObject) throws(PayloadMistake) -> PushType? {
        guard let value = block["push-type"] else { return nil }
        guard let type = value.string.flatMap(PushType.init(rawValue:)) else { throw .badNative }
        return type
    }

    private static func priority(_ block: JSONObject) throws(PayloadMistake) -> Priority? {
        guard let value = block["priority"] else { return nil }
        guard let priority = value.integer.flatMap({ Priority(rawValue: Int($0)) }) else { throw .badNative }
        return priority
    }
}

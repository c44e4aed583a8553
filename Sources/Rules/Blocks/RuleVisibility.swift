import Notifications

/// Whether a rule's notifications show or play anything in mode alert, on each platform: what does not is silent in
/// every other mode, too.
struct RuleVisibility: Sendable {
    private let hasTexts: Bool
    /// Whose block decides otherwise than the texts.
    private let exceptions: [String: Bool]
    /// Whether there is a form of it that would show the rule's texts.
    private let isTold: Bool

    init(_ texts: RuleTexts, _ blocks: PlatformBlocks, mode: Mode) {
        let hasTexts = texts.showAnything
        self.hasTexts = hasTexts
        isTold = mode > .nudge
        var exceptions: [String: Bool] = [:]
        for platform in blocks.platforms {
            let block = Dictionary(blocks.members(of: platform).map { ($0.key, $0.value) }) { first, _ in first }
            let shows: Bool?
            switch platform {
            case "ios": shows = Self.apple(block, hasTexts: hasTexts)
            case "android":
                let shown = block["notification"]?.members ?? []
                shows = shown.contains { ["title", "body", "titleLocKey", "bodyLocKey"].contains($0.key) } ? true : nil
            default: shows = block["title"] != nil || block["body"] != nil ? true : nil
            }
            // What only ever is a nudge has no texts of its own to show.
            if let shows, isTold || !shows { exceptions[platform] = shows }
        }
        self.exceptions = exceptions
    }

    func isSilent(on platform: String) -> Bool {
        if let shows = exceptions[platform] { return !shows }
        return isTold && !hasTexts
    }

    /// What APNs makes of a block; nil where that goes by the rule's texts.
    private static func apple(_ block: [String: JSONTemplate], hasTexts: Bool) -> Bool? {
        let isShown = block["alert"] != nil
        switch pushType(block, isVisible: hasTexts || isShown || block["sound"] != nil || block["badge"] != nil) {
        case .alert: return isShown ? true : nil
        case .voip, .pushToTalk: return true
        case .liveActivity:
            return (block["event"] ?? block["events"])?.json == #""start""# || isShown || block["sound"] != nil
        case .background, .location, .complication, .fileProvider, .mdm, .widgets, .controls: return false
        }
    }

    private static func pushType(_ block: [String: JSONTemplate], isVisible: Bool) -> APNsPushType {
        let stated = block["push-type"]?.json?.dropFirst().dropLast()
        if let type = stated.flatMap({ APNsPushType(rawValue: String($0)) }) { return type }
        if block["event"] != nil || block["events"] != nil || block["content-state"] != nil { return .liveActivity }
        return block["content-available"]?.json == "1" && !isVisible ? .background : .alert
    }
}

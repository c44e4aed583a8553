import Notifications
import YAMLReading

/// What kinds of push a push service has, and how pacing treats each unless a rule says otherwise.
struct PushTable: Sendable {
    /// How many silent pushes a device gets in an hour; nil: as many as of anything else.
    let silentPushesPerHour: Int?
    /// The push that a rule's block makes; the flag says whether the rule has texts.
    let push: @Sendable (_ block: YAMLMapping?, _ hasTexts: Bool) -> PacedPush

    init(
        silentPushesPerHour: Int? = nil,
        push: @escaping @Sendable (_ block: YAMLMapping?, _ hasTexts: Bool) -> PacedPush
    ) {
        self.silentPushesPerHour = silentPushesPerHour
        self.push = push
    }

    /// Of services where a message shows its texts, or nothing.
    static let ofTexts = PushTable { _, hasTexts in hasTexts ? .alert : .data }

    /// Apple throttles background pushes: two or three an hour (seed 004 section 2).
    static let apns = PushTable(silentPushesPerHour: 3) { block, hasTexts in
        let type = APNsPushType(of: block, hasTexts: hasTexts)
        if type == .liveActivity, ["start", "end"].contains((block?["event"] ?? block?["events"])?.literal) {
            return PacedPush(type: type.rawValue, nature: .special, pace: .immediate, isFixed: true)
        }
        if type == .alert, !hasTexts, block?["alert"] == nil {
            let hasBadgeOrSound = block?["badge"] != nil || block?["sound"] != nil
            return hasBadgeOrSound ? PacedPush(type: "badge", nature: .special, pace: .latest) : .data
        }
        return PacedPush(type: type.rawValue, nature: type.nature, pace: type.pace)
    }

    /// FCM shows a text of the rule, or one that its `notification` says.
    static let fcm = PushTable { block, hasTexts in hasTexts || block?["notification"] != nil ? .alert : .data }
}

extension APNsPushType {
    fileprivate var nature: PushNature {
        switch self {
        case .alert: .alert
        case .background: .silent
        case .location, .voip, .complication, .fileProvider, .mdm, .liveActivity, .pushToTalk, .widgets, .controls:
            .special
        }
    }

    fileprivate var pace: PushPace {
        switch self {
        case .alert: .batch
        case .voip: .immediate
        case .background, .location, .complication, .fileProvider, .mdm, .liveActivity, .pushToTalk, .widgets,
            .controls:
            .latest
        }
    }
}

/// The push services that rules know.
package enum PushServices {
    /// Their platform names.
    package static let platforms = PlatformKey.all.map(\.platform)

    /// How many silent pushes a device gets in an hour, by platform; others get as many as of anything else.
    package static let silentPushesPerHour: [String: Int] = PlatformKey.all.reduce(into: [:]) { limits, key in
        limits[key.platform] = key.pushes.silentPushesPerHour
    }
}

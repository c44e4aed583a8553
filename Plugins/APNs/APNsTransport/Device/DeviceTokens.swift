import PluginKit

/// Tokens that a registration may have beside the device's, one for each kind of push that Apple gives a token of its own.
/// One that is empty or malformed counts as absent.
enum DeviceTokens {
    static let fields: [StaticString] = [
        "live_activity_token", "live_activity_start_token", "voip_token", "location_token", "complication_token",
        "fileprovider_token", "pushtotalk_token", "widgets_token", "controls_token", "mdm_token",
    ]

    /// What a device that is managed wants to hear (Apple, "Device Management").
    static let pushMagic: StaticString = "mdm_push_magic"
    static let pushMagicLengths = 1...256

    /// Where pushes of a type go; nil: to the device token, or the device takes none.
    static func token(for type: PushType, _ registration: borrowing Registration) -> BorrowedText? {
        switch type {
        case .alert, .background: nil
        case .location: token(registration, "location_token")
        case .voip: token(registration, "voip_token")
        case .complication: token(registration, "complication_token")
        case .fileProvider: token(registration, "fileprovider_token")
        case .mdm: token(registration, "mdm_token")
        case .liveActivity: token(registration, "live_activity_token")
        case .pushToTalk: token(registration, "pushtotalk_token")
        case .widgets: token(registration, "widgets_token")
        case .controls: token(registration, "controls_token")
        }
    }

    /// Where such a push for a Live Activity goes: to the token of the activity that runs, or to start one to Apple's
    /// push-to-start token where there is one.
    static func liveActivity(_ event: LiveActivity.Event, _ registration: borrowing Registration) -> BorrowedText? {
        (event == .start ? token(registration, "live_activity_start_token") : nil)
            ?? token(for: .liveActivity, registration)
    }

    private static func token(_ registration: borrowing Registration, _ name: StaticString) -> BorrowedText? {
        registration.field(name).flatMap { DeviceToken.isValid($0) ? $0 : nil }
    }
}

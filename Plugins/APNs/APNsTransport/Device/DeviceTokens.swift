import PluginKit

/// Tokens that a registration may have beside the device's: `live_activity_token` (of the activity that runs),
/// `live_activity_start_token` (Apple's push-to-start token; without it a start goes to the former) and `voip_token`
/// (PushKit's). One that is empty or malformed counts as absent.
struct DeviceTokens {
    static let fields: [StaticString] = ["live_activity_token", "live_activity_start_token", "voip_token"]

    let voip: BorrowedText?
    private let activity: BorrowedText?
    private let activityStart: BorrowedText?

    init(_ registration: borrowing Registration) {
        activity = DeviceTokens.token(registration, "live_activity_token")
        activityStart = DeviceTokens.token(registration, "live_activity_start_token")
        voip = DeviceTokens.token(registration, "voip_token")
    }

    /// Where such a push for a Live Activity goes; nil: the device shows none.
    func liveActivity(_ event: LiveActivity.Event) -> BorrowedText? {
        event == .start ? activityStart ?? activity : activity
    }

    private static func token(_ registration: borrowing Registration, _ name: StaticString) -> BorrowedText? {
        registration.field(name).flatMap { DeviceToken.isValid($0) ? $0 : nil }
    }
}

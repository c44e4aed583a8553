import Nostr
import Notifications
import Registry

/// A device of an account, as far as a notification for it depends on that.
struct Addressee {
    let account: PublicKey
    let device: DeviceID
    let route: Route
    /// What the registration asked for, or the operator's default.
    let mode: Mode
    let language: LanguageTag?
    /// Whether its transport seals what only the device may read, and so gets the whole.
    let isSealedByTransport: Bool

    init(
        account: PublicKey,
        device: DeviceID,
        route: Route,
        mode: Mode,
        language: LanguageTag?,
        isSealedByTransport: Bool
    ) {
        self.account = account
        self.device = device
        self.route = route
        self.mode = mode
        self.language = language
        self.isSealedByTransport = isSealedByTransport
    }

    init(_ target: AddressingPlan.Target, of account: PublicKey) {
        self.init(
            account: account,
            device: target.device,
            route: target.route,
            mode: target.mode,
            language: target.language,
            isSealedByTransport: target.isSealedByTransport
        )
    }
}

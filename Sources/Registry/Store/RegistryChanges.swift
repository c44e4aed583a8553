import Nostr
import Notifications

/// What a transaction did, for those who keep up with it in memory.
struct RegistryChanges {
    var index: [IndexChange] = []
    /// Of whom something changed that an account watch looks at.
    var keys: Set<PublicKey> = []
    /// To be pushed.
    var codes: [TargetCodeRequest] = []

    /// The devices that have another address now, or none.
    var devices: [DeviceID] {
        index.compactMap { change in
            switch change {
            case .put(let device): device.device
            case .remove(let device, _): device
            case .messageKeys: nil
            }
        }
    }

    /// The accounts that lost a device, perhaps their last one.
    var leftAccounts: [PublicKey] {
        index.compactMap { if case .remove(_, let account) = $0 { account } else { nil } }
    }
}

import Nostr

/// How it stands with devices that have keys of their own, in words that a person understands.
enum IdentityWords {
    static let silentList =
        "the newest kind 10050 of its user says nothing of devices; one that names it again ends that"
    static let waitsForCode = "its target is another account's; it waits for the code that was pushed there"

    static func waiting(_ key: String) -> String {
        "until the newest kind 10050 of theirs has [\"device\", \"\(key)\"]"
    }

    /// What `explain` says beside what became of an event.
    static func lines(of account: PublicKey, waiting: [WaitingDevice], _ devices: [DeviceOverview]) -> [String] {
        let npub = NIP19.npub(account)
        return waiting.map { "A registration of \(npub) waits, and wakes nobody, \(Self.waiting($0.key))." }
            + devices.compactMap { device in
                if device.waitsForCode { return "Device \(device.device) of \(npub) is not woken: \(waitsForCode)." }
                return device.countsUntil.map {
                    "Device \(device.device) of \(npub) is woken until \($0) only: \(silentList)."
                }
            }
    }
}

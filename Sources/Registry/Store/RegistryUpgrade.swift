import GRDB
import Notifications

/// Brings out what earlier versions kept in sealed form only. Opening every secret at each start would take too long.
struct RegistryUpgrade {
    private let store: RegistryStore
    private let vault: TokenVault

    init(store: RegistryStore, vault: TokenVault) {
        self.store = store
        self.vault = vault
    }

    func run() throws {
        try bringContentsOut()
        try bringTargetsOut()
    }

    /// A registry from before watching, languages and paces has what concerns them in sealed contents.
    private func bringContentsOut() throws {
        guard try !store.write({ try $0.isDone(.deviceWishes) }) else { return }
        try store.write { rows in
            for device in try rows.allDevices() {
                guard let sealed = try rows.sealedContent(of: device) else { continue }
                // One that cannot be opened keeps nobody else from being served.
                guard let bytes = try? vault.open(sealed, of: device, for: .content) else { continue }
                let json = String(decoding: bytes, as: UTF8.self)
                guard let content = try? RegistrationContent(json: json) else { continue }
                try rows.putPreferences(of: device, relays: content.relays, partners: Set(content.partners))
                try rows.putTraits(of: device, content.language, hasSealingKey: content.sealingKey != nil)
                try rows.putPreferences(of: device, sealed: try vault.seal(content.preferences, of: device))
            }
            try rows.markDone(.deviceWishes)
        }
    }

    /// A registry from before chosen targets has them in sealed addresses. Whoever has one by then keeps it.
    private func bringTargetsOut() throws {
        guard try !store.write({ try $0.isDone(.chosenTargets) }) else { return }
        try store.write { rows in
            for device in try rows.devicesWithoutTargets(where: ChosenTarget.isChosen) {
                // One that cannot be opened keeps nobody else from being served.
                guard let sealed = try rows.sealedAddress(of: device),
                    let bytes = try? vault.open(sealed.bytes, of: device, for: .address),
                    let address = AddressCodec.decode(bytes),
                    let target = ChosenTarget(platform: address.platform, token: address.token)
                else { continue }
                try rows.putTarget(vault.handle(of: target), of: device, isConfirmed: true)
            }
            try rows.markDone(.chosenTargets)
        }
    }
}

/// What was brought out, by its name in the table `meta`.
private enum UpgradeStep: String {
    case deviceWishes = "device wishes"
    case chosenTargets = "chosen targets"
}

extension RegistryRows {
    fileprivate func isDone(_ step: UpgradeStep) throws -> Bool {
        try one("SELECT 1 FROM meta WHERE name = ?", [step.rawValue]) != nil
    }

    fileprivate func markDone(_ step: UpgradeStep) throws {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, 'out')", [step.rawValue])
    }

    fileprivate func allDevices() throws -> [DeviceID] {
        try all("SELECT id FROM devices").map { DeviceID(rawValue: $0[0]) }
    }
}

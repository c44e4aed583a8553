import GRDB
import Notifications
import Platforms

/// Brings out what earlier versions kept in sealed form only. Opening every secret at each start would take too long.
struct RegistryUpgrade: Sendable {
    private let store: RegistryStore
    private let vault: TokenVault

    init(store: RegistryStore, vault: TokenVault) {
        self.store = store
        self.vault = vault
    }

    /// Does what was not done yet; cheap when there is nothing.
    func run(_ platforms: PlatformCatalog) throws {
        try bringContentsOut(platforms)
        for platform in platforms.platforms where platforms.hasChosenTargets(platform) {
            try bringTargetsOut(on: platform, platforms)
        }
    }

    /// A registry from before watching, languages and paces has what concerns them in sealed contents.
    private func bringContentsOut(_ platforms: PlatformCatalog) throws {
        guard try !store.writeHere({ try $0.isDone(.devicePreferences) }) else { return }
        try store.writeHere { rows in
            for device in try rows.allDevices() {
                guard let sealed = try rows.sealedContent(of: device) else { continue }
                // One that cannot be opened keeps nobody else from being served.
                guard let bytes = try? vault.open(sealed, of: device, for: .content) else { continue }
                let json = String(decoding: bytes, as: UTF8.self)
                guard let content = try? RegistrationContent(json: json, platforms: platforms) else { continue }
                try rows.putPreferences(of: device, relays: content.relays, partners: Set(content.partners))
                try rows.putTraits(of: device, content.language, hasSealingKey: content.sealingKey != nil)
                try rows.putPreferences(of: device, sealed: try vault.seal(content.preferences, of: device))
            }
            try rows.markDone(.devicePreferences)
        }
    }

    /// A registry from before chosen targets, or from before a plugin said that people choose its targets, has them in
    /// sealed addresses. Whoever has one by then keeps it.
    private func bringTargetsOut(on platform: String, _ platforms: PlatformCatalog) throws {
        let step = UpgradeStep.chosenTargets(platform: platform)
        guard try !store.writeHere({ try $0.isDone(step) }) else { return }
        try store.writeHere { rows in
            for device in try rows.devicesWithoutTargets(on: platform) {
                // One that cannot be opened keeps nobody else from being served.
                guard let sealed = try rows.sealedAddress(of: device),
                    let bytes = try? vault.open(sealed.bytes, of: device, for: .address),
                    let address = AddressCodec.decode(bytes),
                    let target = ChosenTarget(platform: address.platform, token: address.token, platforms)
                else { continue }
                try rows.putTarget(vault.handle(of: target), of: device, isConfirmed: true)
            }
            try rows.markDone(step)
        }
    }
}

/// What was brought out, by its name in the table `meta`.
private enum UpgradeStep {
    case devicePreferences
    case chosenTargets(platform: String)

    var name: String {
        switch self {
        case .devicePreferences: "device wishes"
        case .chosenTargets(let platform): "chosen targets on \(platform)"
        }
    }
}

extension RegistryRows {
    fileprivate func isDone(_ step: UpgradeStep) throws -> Bool {
        try one("SELECT 1 FROM meta WHERE name = ?", [step.name]) != nil
    }

    fileprivate func markDone(_ step: UpgradeStep) throws {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, 'out')", [step.name])
    }

    fileprivate func allDevices() throws -> [DeviceID] {
        try all("SELECT id FROM devices").map { DeviceID(rawValue: $0[0]) }
    }
}

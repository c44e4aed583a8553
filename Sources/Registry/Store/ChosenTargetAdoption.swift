import Push

/// Notes the chosen targets of devices that registered before their platform's plugin declared its targets as chosen.
/// Until then a target is in the sealed address only, and opening every secret at each start would take too long.
struct ChosenTargetAdoption: Sendable {
    private let store: RegistryStore
    private let vault: TokenVault

    init(store: RegistryStore, vault: TokenVault) {
        self.store = store
        self.vault = vault
    }

    /// Runs once for each platform; cheap afterwards. A device that already has a target keeps it.
    func run(_ platforms: PlatformCatalog) throws {
        for platform in platforms.platforms where platforms.hasChosenTargets(platform) {
            try adoptTargets(on: platform, platforms)
        }
    }

    private func adoptTargets(on platform: String, _ platforms: PlatformCatalog) throws {
        guard try !store.writeHere({ try $0.hasAdoptedTargets(on: platform) }) else { return }
        try store.writeHere { rows in
            for device in try rows.devicesWithoutTargets(on: platform) {
                // A device whose address cannot be opened must not block the others.
                guard let sealed = try rows.sealedAddress(of: device),
                    let bytes = try? vault.open(sealed.bytes, of: device, for: .address),
                    let address = AddressCodec.decode(bytes),
                    let target = ChosenTarget(platform: address.platform, token: address.token, platforms)
                else { continue }
                try rows.putTarget(vault.handle(of: target), of: device, isConfirmed: true)
            }
            try rows.markTargetsAdopted(on: platform)
        }
    }
}

extension RegistryRows {
    fileprivate func hasAdoptedTargets(on platform: String) throws -> Bool {
        try one("SELECT 1 FROM meta WHERE name = ?", [Self.name(of: platform)]) != nil
    }

    fileprivate func markTargetsAdopted(on platform: String) throws {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, 'adopted')", [Self.name(of: platform)])
    }

    private static func name(of platform: String) -> String { "chosen targets on \(platform)" }
}

import Nostr

extension Registry {
    /// What is to be watched of an account; nil when it has no device.
    package func watchedAccount(_ key: PublicKey) throws -> WatchedAccount? {
        let now = now()
        var account: WatchedAccount?
        try store.read { rows in
            try rows.forEachWatchedAccount(key, now: now) { account = $0 }
        }
        return account
    }

    /// Calls `body` with every account that has a device, on one consistent state and beside writers. It must not call
    /// the registry.
    package func forEachWatchedAccount(_ body: (WatchedAccount) throws -> Void) throws {
        let now = now()
        try store.read { rows in
            try rows.forEachWatchedAccount(now: now, body)
        }
    }

    /// A registry that knew of no watching, or of no languages or paces, has what concerns those in sealed contents only. Opening these at
    /// each start would take too long.
    func bringContentsOut() throws {
        guard try !store.write({ try $0.areContentsOut() }) else { return }
        try store.write { rows in
            for device in try rows.allDevices() {
                guard let sealed = try rows.sealedContent(of: device) else { continue }
                // One that cannot be opened keeps nobody else from being served.
                guard let bytes = try? vault.open(sealed, of: device, for: .content) else { continue }
                let json = String(decoding: bytes, as: UTF8.self)
                guard let content = try? RegistrationContent(json: json) else { continue }
                try rows.putWishes(of: device, relays: content.relays, partners: Set(content.partners))
                try rows.putTraits(of: device, content.language, hasSealingKey: content.sealingKey != nil)
                try rows.putWishes(of: device, sealed: try vault.seal(content.wishes, of: device))
            }
            try rows.noteContentsAreOut()
        }
    }
}

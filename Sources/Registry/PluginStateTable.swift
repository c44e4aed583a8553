import Cipher
import Core
import Foundation
import GRDB
import Nostr

/// The sealed key-value state of plugins in the registry's database. Safe to call from any thread. Calls wait for the
/// disk.
package final class PluginStateTable: Sendable {
    /// A key that was set, or removed by an empty value.
    package struct Change: Sendable {
        package let owner: String
        package let entry: StateEntry

        package init(owner: String, entry: StateEntry) {
            self.owner = owner
            self.entry = entry
        }
    }

    /// How long the values of an unused owner are kept.
    private static let memory: Duration = .days(30)

    private let store: RegistryStore
    private let vault: TokenVault

    /// Throws a ``RegistryStoreError`` if the store belongs to another identity.
    package init(
        store: RegistryStore,
        identity: KeyPair,
        random: @escaping RandomBytes = SecureRandom.bytes
    ) throws {
        self.store = store
        vault = try TokenVault(store.claim(for: identity).ring, random: random)
    }

    /// Returns the stored entries of an owner, and the number of entries that cannot be read.
    package func entries(of owner: String) throws -> (entries: [StateEntry], unreadable: Int) {
        let rows = try store.read { try $0.sealedStates(of: owner) }
        let entries = rows.compactMap { vault.openState($0, ofOwner: owner) }
        return (entries, rows.count - entries.count)
    }

    /// Makes changes, in their order and in one transaction.
    package func write(_ changes: [Change], now: Timestamp) throws {
        try store.writeHere { rows in
            for change in changes {
                let handle = vault.handle(ofState: change.entry.key, owner: change.owner)
                if change.entry.value.isEmpty {
                    try rows.removeState(handle, of: change.owner)
                } else {
                    let sealed = try vault.seal(change.entry, ofOwner: change.owner)
                    try rows.putState(sealed, handle, of: change.owner, now: now)
                }
            }
        }
    }

    /// Marks `owners` as in use, and deletes the state of owners that have been unused for long.
    package func forgetUnused(but owners: [String], now: Timestamp) throws {
        try store.writeHere { rows in
            for owner in owners { try rows.touch(stateOwner: owner, now: now) }
            try rows.forgetStateOwners(unusedSince: now - Self.memory)
        }
    }
}

extension RegistryRows {
    fileprivate func sealedStates(of owner: String) throws -> [[UInt8]] {
        try all(
            "SELECT sealed FROM plugin_states JOIN plugin_owners ON owner = id WHERE name = ? ORDER BY handle",
            [owner]
        ).map { Array($0[0] as Data) }
    }

    fileprivate func putState(_ sealed: [UInt8], _ handle: [UInt8], of owner: String, now: Timestamp) throws {
        try execute("INSERT OR IGNORE INTO plugin_owners (name, used_at) VALUES (?, ?)", [owner, now])
        try execute(
            """
            INSERT OR REPLACE INTO plugin_states (owner, handle, sealed)
            SELECT id, ?, ? FROM plugin_owners WHERE name = ?
            """,
            [Data(handle), Data(sealed), owner]
        )
    }

    fileprivate func removeState(_ handle: [UInt8], of owner: String) throws {
        try execute(
            "DELETE FROM plugin_states WHERE handle = ? AND owner = (SELECT id FROM plugin_owners WHERE name = ?)",
            [Data(handle), owner]
        )
    }

    fileprivate func touch(stateOwner owner: String, now: Timestamp) throws {
        try execute("UPDATE plugin_owners SET used_at = ? WHERE name = ?", [now, owner])
    }

    fileprivate func forgetStateOwners(unusedSince limit: Timestamp) throws {
        try execute("DELETE FROM plugin_owners WHERE used_at < ?", [limit])
    }
}

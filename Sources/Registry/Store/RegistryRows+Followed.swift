import Foundation
import GRDB
import Nostr

extension RegistryRows {
    func followed(by account: PublicKey) throws -> FollowedKeys? {
        let row = try one(
            "SELECT created_at, event_id, hashes FROM followed WHERE account = ?",
            [account.bytes.data]
        )
        guard let row else { return nil }
        guard let followed = FollowedKeys(mark: try mark(row), data: row["hashes"]) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
        return followed
    }

    /// Unless a newer list is there, or the account has no device.
    func putFollowed(_ followed: FollowedKeys, by account: PublicKey) throws {
        try execute(
            """
            INSERT INTO followed (account, created_at, event_id, hashes)
            SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)
            ON CONFLICT (account) DO UPDATE SET
                created_at = excluded.created_at, event_id = excluded.event_id, hashes = excluded.hashes
            WHERE excluded.created_at > created_at OR excluded.created_at = created_at AND excluded.event_id < event_id
            """,
            [account.bytes.data, followed.mark.createdAt, followed.mark.id.bytes.data, followed.data]
        )
    }

    func removeAllFollowed() throws {
        try execute("DELETE FROM followed")
    }
}

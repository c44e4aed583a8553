import Foundation
import GRDB
import Nostr

extension RegistryRows {
    func recipientList(_ kind: Kind, of account: PublicKey) throws -> RecipientList? {
        try one(
            "SELECT created_at, event_id, event FROM recipient_lists WHERE account = ? AND kind = ?",
            [account.bytes.data, Int64(kind.rawValue)]
        ).map { RecipientList(mark: try mark($0), json: Array($0["event"] as Data)) }
    }

    /// Unless a newer one is there, or the account has no device.
    func putRecipientList(_ list: RecipientList, _ kind: Kind, of account: PublicKey) throws {
        try execute(
            """
            INSERT INTO recipient_lists (account, kind, created_at, event_id, event)
            SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)
            ON CONFLICT (account, kind) DO UPDATE SET
                created_at = excluded.created_at, event_id = excluded.event_id, event = excluded.event
            WHERE excluded.created_at > created_at OR excluded.created_at = created_at AND excluded.event_id < event_id
            """,
            [
                account.bytes.data, Int64(kind.rawValue), list.mark.createdAt, list.mark.id.bytes.data,
                Data(list.json),
            ]
        )
    }

    func removeRecipientLists(but kinds: Set<Kind>) throws {
        for row in try all("SELECT DISTINCT kind FROM recipient_lists") {
            let kind: Int64 = row["kind"]
            guard !kinds.contains(where: { Int64($0.rawValue) == kind }) else { continue }
            try execute("DELETE FROM recipient_lists WHERE kind = ?", [kind])
        }
    }
}

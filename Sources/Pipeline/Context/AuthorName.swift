import Foundation
import Nostr
import Rules

/// What a profile (kind 0) calls its author.
package enum AuthorName {
    /// Longer names are cut, in characters.
    private static let limit = 80
    private static let byteLimit = 640
    /// The fields of a profile that may hold a name, in the order in which seed 000 asks for them.
    private static let fields = ["display_name", "displayName", "name", "username", "handle"]

    /// The first name that is more than white space; nil when there is none.
    static func of(profile content: String) -> String? {
        guard let profile = (try? JSONSerialization.jsonObject(with: Data(content.utf8))) as? [String: Any] else {
            return nil
        }
        for field in fields {
            let name = (profile[field] as? String)?.trimmingCharacters(in: .whitespacesAndNewlines)
                .beginning(limit, bytes: byteLimit)
            if let name, !name.isEmpty { return String(name) }
        }
        return nil
    }

    /// What the sender of a zap is called who does not want to be known.
    static let anonymous = "Anonymous"

    /// What stands in for the name of whoever's doing `concern` is, while their profile is not known.
    package static func standIn(for concern: EventConcern) -> String {
        concern.zap?.isAnonymous == true ? anonymous : standIn(for: concern.author.hex)
    }

    /// What stands in for a name: the first eight digits of the key.
    package static func standIn(for publicKeyHex: String) -> String {
        publicKeyHex.prefix(8) + "..."
    }
}

import Nostr

/// Writes what friends do to the owner's notes.
struct SceneWriter {
    let owner: Person
    let note: Event

    func like(by friend: Person) throws -> Scene {
        let name = friend.name
        return try about(
            note,
            .reaction,
            by: friend,
            "\(name) likes a note",
            content: "❤️",
            .pushes(title: "⚡ \(name) liked your note", body: "❤️", signal: "reaction")
        )
    }

    func reaction(by friend: Person) throws -> Scene {
        let name = friend.name
        return try about(
            note,
            .reaction,
            by: friend,
            "\(name) reacts with an emoji",
            content: "🔥",
            .pushes(title: "⚡ \(name) reacted to your note", body: "🔥", signal: "reaction")
        )
    }

    func repost(by friend: Person) throws -> Scene {
        try about(note, .repost, by: friend, "\(friend.name) reposts a note", content: "", reposted(by: friend.name))
    }

    func audioRepost(of audio: Event, by friend: Person) throws -> Scene {
        try about(
            audio,
            .audioRepost,
            by: friend,
            "\(friend.name) reposts an audio note",
            content: "",
            reposted(by: friend.name)
        )
    }

    func reply(by friend: Person) throws -> Scene {
        let event = try friend.event(
            .textNote,
            tags: [["e", note.id.hex, "", "root"], ["p", owner.hex]],
            content: "And the loudest."
        )
        return Scene(
            caption: "\(friend.name) replies",
            event: event,
            consequence: .pushes(title: "💬 \(friend.name) sent you a note", body: event.content, signal: "reply"),
            reference: note
        )
    }

    func mention(by friend: Person) throws -> Scene {
        let event = try friend.event(.textNote, tags: [["p", owner.hex]], content: "Somebody tell \(owner.name)!")
        return Scene(
            caption: "\(friend.name) mentions \(owner.name)",
            event: event,
            consequence: .pushes(title: "💬 \(friend.name) sent you a note", body: event.content, signal: "mention")
        )
    }

    func audioNote(by friend: Person) throws -> Scene {
        Scene(
            caption: "\(friend.name) shares an audio note",
            event: try friend.event(.audioNote, tags: [["p", owner.hex]], content: "https://example.com/answer.m4a"),
            consequence: .pushes(
                title: "🎵 \(friend.name) shared an audio note",
                body: "New audio content available",
                signal: "mention"
            )
        )
    }

    func follow(_ contacts: Event, by name: String) -> Scene {
        Scene(
            caption: "\(name) follows \(owner.name)",
            event: contacts,
            consequence: .pushes(
                title: "👤 \(name) started following you",
                body: "You have a new follower",
                signal: "follow"
            )
        )
    }

    func directMessage(from friend: Person) throws -> Scene {
        Scene(
            caption: "\(friend.name) sends a direct message",
            event: try GiftWrap.event(around: "Lunch at noon?", from: friend, to: owner.keys.publicKey),
            consequence: .pushes(
                title: "🔒 You received an encrypted message",
                body: "You have a new encrypted message",
                signal: "dm"
            )
        )
    }

    private func reposted(by name: String) -> Scene.Consequence {
        .pushes(title: "🔄 \(name) reposted your note", body: "Your note was reposted", signal: "repost")
    }

    /// An event that refers to one of the owner's notes as NIP-18 and NIP-25 want it.
    private func about(
        _ note: Event,
        _ kind: Kind,
        by friend: Person,
        _ caption: String,
        content: String,
        _ consequence: Scene.Consequence
    ) throws -> Scene {
        Scene(
            caption: caption,
            event: try friend.event(kind, tags: [["e", note.id.hex], ["p", owner.hex]], content: content),
            consequence: consequence,
            reference: note
        )
    }
}

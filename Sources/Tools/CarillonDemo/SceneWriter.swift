import Core
import Nostr

/// Writes scenes around the owner's notes.
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
        let event = try friend.event(.textNote, tags: [["p", owner.hex]], content: "Please tell \(owner.name)!")
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

    /// A scene with an event that references one of the owner's notes, as in NIP-18 and NIP-25.
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

    /// Events that must not cause pushes, although most name the owner.
    func silence(like: Scene, follower: Person, friend: Person) throws -> [Scene] {
        let stranger = try Person("sam")
        let named = [["p", owner.hex]]
        let reply = try stranger.event(.textNote, tags: [["e", note.id.hex]] + named, content: "Are they?")
        return [
            scene("a live stream names \(owner.name)", try friend.event(Kind(30311), tags: [["d", "bells"]] + named)),
            scene("a relay list names \(owner.name)", try friend.event(Kind(10002), tags: named)),
            scene(
                "\(friend.name) writes to a stranger",
                try friend.event(.textNote, tags: [["p", stranger.hex]], content: "Hello!")
            ),
            scene(
                "\(friend.name) likes a stranger's reply",
                try friend.event(.reaction, tags: named + [["e", reply.id.hex], ["p", stranger.hex]], content: "+")
            ),
            try ownReaction(),
            scene("the same like once more", like.event),
            scene(
                "\(follower.name) also follows another account",
                try follower.event(.contactList, tags: named + [["p", stranger.hex]])
            ),
            Scene(caption: "a forged signature", event: try forged(friend), consequence: .refusal),
            Scene(caption: "a changed text", event: try changed(friend), consequence: .refusal),
        ]
    }

    func ownReaction() throws -> Scene {
        let tags = [["e", note.id.hex], ["p", owner.hex]]
        return scene("\(owner.name) likes her own note", try owner.event(.reaction, tags: tags, content: "+"))
    }

    /// An event from before the owner registered.
    func oldNote(by friend: Person) throws -> Scene {
        let note = try friend.event(
            .textNote,
            age: .hours(1),
            tags: [["p", owner.hex]],
            content: "Has \(owner.name) a phone?"
        )
        return scene("\(friend.name)'s note of an hour ago", note)
    }

    func scene(_ caption: String, _ event: Event) -> Scene {
        Scene(caption: caption, event: event, consequence: .silence)
    }

    /// An event in the name of `friend`, signed by another person.
    private func forged(_ friend: Person) throws -> Event {
        var event = try friend.event(.textNote, tags: [["p", owner.hex]], content: "Send me your keys!")
        event.signature = try Person("mallory").keys.sign(event.id)
        return event
    }

    /// An event signed by `friend` and changed afterwards.
    private func changed(_ friend: Person) throws -> Event {
        var event = try friend.event(.textNote, tags: [["p", owner.hex]], content: "See you on Monday")
        event.content = "See you on Tuesday"
        return event
    }
}

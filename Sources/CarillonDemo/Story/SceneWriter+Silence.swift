import Nostr

extension SceneWriter {
    /// What must wake nobody, though most of it names the owner.
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
                try friend.event(
                    .reaction,
                    tags: named + [["e", reply.id.hex], ["p", stranger.hex]],
                    content: "+"
                )
            ),
            try ownReaction(),
            scene("the same like once more", like.event),
            scene(
                "\(follower.name) follows somebody else too",
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

    /// Of a time when the owner had not registered.
    func oldNote(by friend: Person) throws -> Scene {
        let note = try friend.event(
            .textNote,
            age: 3600,
            tags: [["p", owner.hex]],
            content: "Has \(owner.name) a phone?"
        )
        return scene("\(friend.name)'s note of an hour ago", note)
    }

    func scene(_ caption: String, _ event: Event) -> Scene {
        Scene(caption: caption, event: event, consequence: .silence)
    }

    /// Says it is by `friend`, but somebody else signed it.
    private func forged(_ friend: Person) throws -> Event {
        var event = try friend.event(.textNote, tags: [["p", owner.hex]], content: "Send me your keys!")
        event.signature = try Person("mallory").keys.sign(event.id)
        return event
    }

    /// Signed by `friend`, then altered on the way.
    private func changed(_ friend: Person) throws -> Event {
        var event = try friend.event(.textNote, tags: [["p", owner.hex]], content: "See you on Monday")
        event.content = "See you on Tuesday"
        return event
    }
}

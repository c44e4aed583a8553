import Nostr

extension Story {
    /// What happens at an outside relay: the router learns events, names and notes from there alone.
    static func atARelay(around owner: Person) throws -> Story {
        let heidi = try Person("heidi")
        let ivan = try Person("ivan")
        let judy = try Person("judy")
        let note = try owner.event(.textNote, content: "A bell is heard where nobody looks.")

        let writer = SceneWriter(owner: owner, note: note)
        let mention = try writer.mention(by: heidi)
        return Story(
            owner: owner,
            background: try [heidi, ivan, judy].map { try $0.profile() } + [note],
            loud: [
                mention.at(.relay),
                try writer.like(by: ivan).at(.relay),
                try writer.reply(by: heidi).at(.relay, .router),
            ],
            silent: [
                try writer.ownReaction().at(.relay),
                try writer.oldNote(by: heidi).at(.relay),
                writer.scene("the same mention once more", mention.event).at(.router),
            ],
            closing: try writer.directMessage(from: judy).at(.relay)
        )
    }
}

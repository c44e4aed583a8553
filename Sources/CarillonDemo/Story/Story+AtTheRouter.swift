import Nostr

extension Story {
    /// Every notifiable kind of seed 000, published at the router's own socket.
    static func atTheRouter(around owner: Person) throws -> Story {
        let alice = try Person("alice")
        let bob = try Person("bob")
        let charlie = try Person("charlie")
        let dave = try Person("dave")
        let eve = try Person("eve")
        let frank = try Person("frank")
        let grace = try Person("grace")
        let note = try owner.event(.textNote, content: "Bells are the oldest push notifications.")
        let audio = try owner.event(.audioNote, content: "https://example.com/bells.m4a")

        let writer = SceneWriter(owner: owner, note: note)
        let contacts = try frank.event(.contactList, tags: [["p", owner.hex]])
        let like = try writer.like(by: alice)
        return Story(
            owner: owner,
            background: try [alice, bob, charlie, dave, eve, frank, grace].map { try $0.profile() } + [note, audio],
            loud: [
                like,
                try writer.reaction(by: alice),
                try writer.repost(by: bob),
                try writer.audioRepost(of: audio, by: charlie),
                try writer.reply(by: dave),
                try writer.mention(by: dave),
                try writer.audioNote(by: eve),
                writer.follow(contacts, by: frank.name),
            ],
            silent: try writer.silence(like: like, follower: frank, friend: dave),
            closing: try writer.directMessage(from: grace)
        )
    }
}

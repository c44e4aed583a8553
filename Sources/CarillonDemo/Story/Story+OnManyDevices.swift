import Nostr

extension Story {
    /// A few events for devices that each get them in another form.
    static func onManyDevices(around owner: Person) throws -> Story {
        let rupert = try Person("rupert")
        let victor = try Person("victor")
        let walter = try Person("walter")
        let note = try owner.event(.textNote, content: "What the bell tolls for is nobody's business.")

        let writer = SceneWriter(owner: owner, note: note)
        return Story(
            owner: owner,
            background: try [rupert, victor, walter].map { try $0.profile() } + [note],
            loud: [
                try writer.reply(by: rupert).inGerman("💬 \(rupert.name) hat dir geschrieben"),
                try writer.like(by: victor).inGerman("⚡ \(victor.name) gefällt deine Notiz"),
            ],
            silent: [try writer.ownReaction()],
            closing: try writer.directMessage(from: walter)
                .inGerman("🔒 Du hast eine verschlüsselte Nachricht", "Nur du kannst sie lesen")
        )
    }
}

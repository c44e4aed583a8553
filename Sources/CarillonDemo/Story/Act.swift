/// A story, and the phones that show what reaches its owner.
struct Act {
    /// What stands between an event and the phone that shows what the push says.
    enum Middle {
        /// What reached this phone.
        case phone(Phone)
        /// Where the event was published.
        case place
    }

    let story: Story
    /// Where names and the owner's notes are published.
    let home: Scene.Place
    let middle: Middle
    /// A phone in mode alert.
    let last: Phone

    var phones: [Phone] {
        switch middle {
        case .phone(let phone): [phone, last]
        case .place: [last]
        }
    }

    var pushCount: Int { story.wakingCount * phones.count }

    var middleName: String {
        switch middle {
        case .phone(let phone): phone.name
        case .place: "published at"
        }
    }

    /// What to show of a scene and its pushes in the middle.
    func middleText(_ scene: Scene, _ pushes: [Push]) -> String {
        switch middle {
        case .phone(let phone):
            pushes.first { $0.target == phone.target }?.shown.joined() ?? (scene.wakes ? "nothing" : "-")
        case .place: scene.places.map(\.rawValue).joined(separator: " and ")
        }
    }

    /// What to show in the last column, line by line.
    func lastLines(_ scene: Scene, _ pushes: [Push]) -> [String] {
        pushes.first { $0.target == last.target }?.shown ?? [scene.wakes ? "nothing" : "-"]
    }
}

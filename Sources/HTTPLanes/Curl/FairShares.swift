/// Who has how much of a common room: each may have as much as is still free. So one alone gets half of it, two a third
/// each, and however many fill it, there is room for one more who has nothing yet (dynamic thresholds, Choudhury and Hahne
/// 1998).
struct FairShares {
    let room: Int
    private(set) var taken = 0
    private var takenBy: [UInt32: Int] = [:]

    init(room: Int) {
        self.room = room
    }

    func hasRoom(for share: UInt32) -> Bool { takenBy[share, default: 0] < room - taken }

    mutating func take(_ share: UInt32) {
        taken += 1
        takenBy[share, default: 0] += 1
    }

    mutating func giveBack(_ share: UInt32) {
        guard let count = takenBy[share] else { return }
        taken -= 1
        takenBy[share] = count == 1 ? nil : count - 1
    }
}

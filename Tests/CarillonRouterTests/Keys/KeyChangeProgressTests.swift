import Nostr
import Testing

@testable import Operations

/// The steps of a change of the router's key as a specification: the files on disk, and the next step.
struct KeyChangeProgressTests {
    private static let (old, new, other) = (key(1), key(2), key(3))

    private static func key(_ byte: UInt8) -> PublicKey { PublicKey(Bytes32(words: (UInt64(byte), 0, 0, 0))) }

    private func step(_ goal: KeyChangeGoal, _ change: (inout KeyChangeProgress) -> Void) -> KeyChangeStep? {
        var progress = KeyChangeProgress(keyFile: Self.old)
        change(&progress)
        return progress.step(to: goal)
    }

    @Test func rotationProceedsStepByStep() {
        #expect(step(.rotate) { _ in } == .writeNextFile)
        #expect(step(.rotate) { $0.nextFile = Self.new } == .prepare)
        #expect(step(.rotate) { ($0.nextFile, $0.next) = (Self.new, Self.new) } == .replaceFile)
        #expect(step(.rotate) { ($0.keyFile, $0.next) = (Self.new, Self.new) } == .commit)
        #expect(step(.rotate) { ($0.keyFile, $0.former, $0.isResealed) = (Self.new, Self.old, false) } == .reseal)
        #expect(step(.rotate) { ($0.keyFile, $0.former) = (Self.new, Self.old) } == nil)
    }

    @Test func undoDiscardsAStartedChange() {
        #expect(step(.undo) { _ in } == nil)
        #expect(step(.undo) { $0.nextFile = Self.new } == .removeNextFile)
        #expect(step(.undo) { ($0.nextFile, $0.next) = (Self.new, Self.new) } == .discard)
        // Once the key file has the next key, the rotation is finished before it is undone.
        #expect(step(.undo) { ($0.keyFile, $0.next) = (Self.new, Self.new) } == .commit)
    }

    @Test func undoOfACompletedChangeRestoresTheFormerKey() {
        func undo(_ change: (inout KeyChangeProgress) -> Void) -> KeyChangeStep? {
            step(.undo) {
                ($0.keyFile, $0.former) = (Self.new, Self.old)
                change(&$0)
            }
        }
        #expect(undo { _ in } == .writeNextFile)
        #expect(undo { $0.isResealed = false } == .writeNextFile)
        #expect(undo { $0.nextFile = Self.old } == .prepare)
        #expect(undo { ($0.nextFile, $0.next) = (Self.old, Self.old) } == .replaceFile)
        #expect(undo { ($0.keyFile, $0.next) = (Self.old, Self.old) } == .commit)
    }

    @Test func aWithdrawnKeyStaysAsLongAsDevicesAreRegisteredToIt() {
        func undo(_ change: (inout KeyChangeProgress) -> Void) -> KeyChangeStep? {
            step(.undo) {
                ($0.former, $0.isWithdrawn) = (Self.new, true)
                change(&$0)
            }
        }
        #expect(undo { $0.formerHasDevices = true } == nil)
        #expect(undo { $0.isResealed = false } == .reseal)
        #expect(undo { _ in } == .dropWithdrawn)
        #expect(undo { $0.nextFile = Self.new } == .removeNextFile)
    }

    @Test func rotationDiscardsAStartedUndo() {
        func rotate(_ change: (inout KeyChangeProgress) -> Void) -> KeyChangeStep? {
            step(.rotate) {
                ($0.keyFile, $0.former) = (Self.new, Self.old)
                change(&$0)
            }
        }
        #expect(rotate { $0.nextFile = Self.old } == .removeNextFile)
        #expect(rotate { ($0.nextFile, $0.next) = (Self.old, Self.old) } == .discard)
        #expect(rotate { ($0.keyFile, $0.next) = (Self.old, Self.old) } == .commit)
    }

    @Test func inconsistentKeyChangeStartsAgain() {
        // The file is lost, or replaced: the secret of the next key no longer exists.
        #expect(step(.rotate) { $0.next = Self.new } == .discard)
        #expect(step(.rotate) { ($0.nextFile, $0.next) = (Self.other, Self.new) } == .discard)
        #expect(step(.rotate) { $0.nextFile = Self.old } == .removeNextFile)
        #expect(step(.rotate) { ($0.nextFile, $0.former) = (Self.other, Self.new) } == .removeNextFile)
    }
}

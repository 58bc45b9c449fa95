// SPDX-License-Identifier: Apache-2.0
// A screen with many pictures: a queue loads them a few at a time, and the limit changes while it runs. Each item carries
// what the program knows of its picture. On leaving the screen, the queue is stopped and waited for on the main thread.

import Foundation
import Martlet

/// What the program knows of a picture; the queue returns it with every callback.
struct Picture {
    var title: String
    var place: Int
}

/// The screen: shows each picture in its place.
///
/// Its methods are called on the main thread.
@MainActor
final class Album: @preconcurrency TransferQueueDelegate {
    /// The pictures that have arrived, by place.
    private(set) var pictures: [Int: (title: String, bytes: [UInt8])] = [:]
    private(set) var failures: [Int: TransferError] = [:]
    private(set) var mostRunning = 0
    private(set) var ending = ""
    /// Called with each picture.
    var onPicture: ((Picture) -> Void)?

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: TransferResponse) {
        self.mostRunning = max(self.mostRunning, queue.runningCount)
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
        guard let picture = item.userInfo as? Picture else { return }
        self.pictures[picture.place] = (picture.title, data.body)
        self.onPicture?(picture)
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError) {
        guard let picture = item.userInfo as? Picture else { return }
        self.failures[picture.place] = error
    }

    func queueDidFinish(_ queue: TransferQueue) { self.ending = "finished" }

    func queueDidStop(_ queue: TransferQueue) { self.ending = "stopped" }

    /// A page with all pictures and failures, by place.
    var contactSheet: String {
        let figures = (Array(self.pictures.keys) + self.failures.keys).sorted()
            .map { place in
                guard let picture = self.pictures[place] else {
                    return "<figure><figcaption>\(place): \(self.failures[place]?.status ?? 0)</figcaption></figure>"
                }
                let image = Data(picture.bytes).base64EncodedString()
                return "<figure><img src='data:image/png;base64,\(image)' alt='\(picture.title)'>"
                    + "<figcaption>\(picture.title)</figcaption></figure>"
            }
        return """
            <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Contact sheet</title>
            <style>body { display: flex; flex-wrap: wrap; font: 14px sans-serif } figure { margin: 6px }</style>
            \(figures.joined(separator: "\n"))</html>
            """
    }

    /// Waits until the queue has said how it ended.
    func end() async throws -> String {
        while self.ending.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        return self.ending
    }
}

enum ImageQueue {
    /// Makes a queue for pictures: three at a time, slowly, so that one can watch.
    @MainActor
    static func queue(for album: Album) throws -> TransferQueue {
        var configuration = TransferQueue.defaultConfiguration
        configuration.rateLimit = 1_500_000
        let queue = try TransferQueue(concurrentTransfers: 3, configuration: configuration)
        queue.addDelegate(album, on: .main)
        return queue
    }

    /// The example.
    @MainActor
    static func run(_ stage: Stage) async throws -> String {
        for number in 1...32 where number != 7 { try stage.write("www/\(number).png", Drawing.png(number)) }
        let server = try await stage.serve("www")

        stage.say("30 images, three at a time; number 7 does not exist, and number 12 is asked for twice")
        let album = Album()
        let queue = try self.queue(for: album)
        for place in 1...30 {
            let number = place == 30 ? 12 : place
            try queue.add("\(server)/\(number).png", userInfo: Picture(title: "Picture \(number)", place: place))
        }
        var problem: (any Error)?
        album.onPicture = { picture in
            let count = album.pictures.count
            if count % 8 == 0 {
                stage.say("\(count) are there, \(queue.runningCount) running, \(queue.waitingCount) waiting")
            }
            guard count == 10 else { return }
            stage.say(
                "10 are there, never more than \(album.mostRunning) at a time: six from now on, and two more images"
            )
            problem = Result { try stage.check(album.mostRunning == 3, "three at a time") }.failure
            queue.concurrentTransfers = 6
            for place in 31...32 {
                do {
                    try queue.add("\(server)/\(place).png", userInfo: Picture(title: "Picture \(place)", place: place))
                } catch {
                    problem = error
                }
            }
            // From now on nothing can be added, and the queue ends with its last item.
            queue.finishQueuing()
        }
        queue.start()
        let ending = try await album.end()
        if let problem { throw problem }
        try stage.check(ending == "finished" && queue.isFinished, "the queue is finished")
        try stage.check(album.mostRunning == 6, "six at a time after the change")
        try stage.check(album.pictures.count == 31, "31 pictures are in their places, one of them twice")
        try stage.check(
            album.pictures[12]?.bytes == album.pictures[30]?.bytes,
            "the URL that was added twice came twice"
        )
        for (place, picture) in album.pictures {
            guard picture.bytes == Drawing.png(place == 30 ? 12 : place) else {
                throw Stage.Failure("picture \(place) has other bytes than the server's")
            }
        }
        try stage.check(
            album.failures.keys.sorted() == [7] && album.failures[7]?.status == 404,
            "number 7 failed with 404"
        )
        let sheet = try stage.write("contact-sheet.html", Array(album.contactSheet.utf8))
        stage.say("contact sheet: \(sheet), \(ByteCount.compact(Int64(album.contactSheet.utf8.count)))")

        stage.say("again; the user leaves the screen after five images")
        let second = Album()
        let other = try self.queue(for: second)
        for place in 1...30 where place != 7 {
            try other.add("\(server)/\(place).png", userInfo: Picture(title: "Picture \(place)", place: place))
        }
        second.onPicture = { _ in if second.pictures.count == 5 { other.requestStop() } }
        other.start()
        while second.pictures.count < 5 { try await Task.sleep(for: .milliseconds(1)) }
        // The main thread waits, on which the delegate is called: nothing locks up, its calls follow.
        try other.waitUntilFinishedBlocking(timeout: .seconds(20))
        try stage.check(other.isFinished && other.runningCount == 0, "the main thread has waited for the stop")
        try stage.check(try await second.end() == "stopped", "the delegate was told that the queue was stopped")
        let cancelled = second.failures.values.count { $0.code == .cancelled }
        try stage.check(
            second.pictures.count + cancelled == 29 && cancelled == second.failures.count,
            "each of the 29 has one end: \(second.pictures.count) pictures, \(cancelled) cancelled"
        )
        return "contact sheet of 31 pictures and one 404; then \(second.pictures.count) pictures before the stop"
    }
}

extension Result {
    /// The failure, if it is one.
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

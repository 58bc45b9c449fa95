// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine
import TransferTesting

/// What happens in a download world besides the sites: kills, the user's actions, and the network.
extension DownloadLife {
    static func kills(
        _ recipe: inout Recipe,
        _ kind: Site.Kind,
        _ size: Int
    ) -> [(kill: Kill, losesPower: Bool)] {
        var kills: [(kill: Kill, losesPower: Bool)] = []
        for place in 0..<3 {
            let isBefore = recipe.draw(0...1) == 0
            let difference = Kill.difference(Int64(recipe.draw(0...200)) * 1_000_000)
            var kill = recipe.pick([
                Kill.time(recipe.draw(0...2000) * 1_000_000), .call(recipe.draw(1...60), isBefore: isBefore),
                .call(recipe.draw(1...25), isBefore: isBefore), .bytes(Int64(recipe.draw(0...size))),
            ])
            if kind == .repeats, recipe.draw(0...1) == 0 { kill = difference }
            let losesPower = recipe.draw(0...3) == 0
            let text = losesPower ? "the machine loses its power" : "the process is killed"
            if recipe.has(oneIn: kind == .resumed ? 2 : [3, 4, 4][place], "\(text) \(kill.text)") {
                kills.append((kill, losesPower))
            }
        }
        return kills
    }

    static func actions(_ recipe: inout Recipe, jobs: Int) -> [(time: Int64, action: UserAction)] {
        var actions: [(time: Int64, action: UserAction)] = []
        for _ in 0..<3 {
            let time = Int64(recipe.draw(0...1500)) * 1_000_000
            let length = Int64(recipe.pick([recipe.draw(0...3000), recipe.draw(8000...60_000)])) * 1_000_000
            let job = recipe.draw(0...jobs - 1)
            let action = recipe.pick([
                UserAction.pause(job: job, for: length), .pauseAll(for: length),
                .cancel(job: job, keeping: recipe.draw(0...1) == 0), .limit(transfers: recipe.draw(1...5)),
                .rate(recipe.draw(0...1) == 0 ? nil : Int64(recipe.draw(50...500)) << 10),
                .priority(job: job, recipe.pick([.low, .normal, .high])), .connections(recipe.draw(1...4)),
            ])
            if recipe.has(oneIn: 12, "after \(time / 1_000_000) ms the user \(action.text)") {
                actions.append((time, action))
            }
        }
        return actions
    }

    func drawNetwork(_ recipe: inout Recipe) {
        self.network.roundTrip = recipe.pick([200_000, 2_000_000, 20_000_000, 150_000_000])
        self.network.piece = recipe.pick([8, 16, 48, 64]) << 10
        if recipe.has(oneIn: 10, "idle connections are closed by the server") { self.network.staleOneIn = 3 }
        if recipe.has(oneIn: 30, "connections fail for want of descriptors") { self.network.shortageOneIn = 6 }
        let start = Int64(recipe.draw(0...1500)) * 1_000_000
        let length = Int64(recipe.draw(1...120)) * 1_000_000_000
        if recipe.has(
            oneIn: 15,
            "there are no descriptors from \(start / 1_000_000) ms for \(length / 1_000_000_000) s"
        ) {
            self.network.shortage = start..<start + length
        }
        for _ in 0..<2 {
            let start = Int64(recipe.draw(0...1500)) * 1_000_000
            let length = Int64(
                recipe.pick([recipe.draw(10...500), recipe.draw(1000...20_000), recipe.draw(30_000...300_000)])
            )
            let isAll = recipe.draw(0...2) == 0
            let code = recipe.pick([
                TransportError.Code.refused, .unreachable, .connectTimeout, .nameResolution, .connect,
            ])
            let breaks = recipe.draw(0...1) == 0
            let host = isAll ? nil : recipe.pick(self.sites[0].hosts)
            let text = "\(host ?? "every host") is out (\(code.rawValue)) from \(start / 1_000_000) ms for \(length) ms"
            if recipe.has(oneIn: 8, breaks ? "\(text), and connections break" : text) {
                self.network.outages.append(
                    SimulatedNetwork.Outage(
                        host: host,
                        time: start..<start + length * 1_000_000,
                        code: code,
                        breaksConnections: breaks
                    )
                )
            }
        }
    }
}

// One answer against its row: X and Z are counted apart; a lane of kind 1 accepts any NaN; what the mask leaves out is not looked at.

  reg [W-1:0] want, mask, differs;

  // A lane that may be any NaN and is one does not differ.
  task excuse;
    integer k, lane, lane_bits, place;
    reg [63:0] magnitude;
    begin
      for (k = 0; k < OUTS; k = k + 1)
        if (out_kind[k] >= 0)
          for (lane = 0; lane < out_lanes[k]; lane = lane + 1) begin
            lane_bits = out_bits[k] / out_lanes[k];
            place = out_lsb[k] + lane * lane_bits;
            magnitude = (got >> place) & (64'hFFFF_FFFF_FFFF_FFFF >> (65 - lane_bits));
            if (want[(out_kind[k] + 4 * lane) +: 4] == 4'd1 && magnitude >= out_nan[k])
              differs = differs & ~((ONES >> (W - lane_bits)) << place);
          end
    end
  endtask

  // A chain that starts again after a reset brings rows back that were judged before: each counts once.
  reg wrong [0:`TC_WORDS-1];
  integer judged;

  task compare;
    reg first_time;
    begin
      first_time = answered >= judged;
      if (first_time) judged = answered + 1;
      if (first_time) wrong[answered] = 1'b0;
      want = rows[answered];
      mask = (want << TO_COLUMN) & CHECKED;
      differs = (got ^ want) & mask;
      if (mask == 0) masked = masked + first_time;
      else begin
        compared = compared + first_time;
        if (^differs === 1'bx) begin
          unknown = unknown + !wrong[answered];
          show_mismatch;
        end else if (differs != 0) begin
          excuse;
          if (differs != 0) begin
            mismatched = mismatched + !wrong[answered];
            show_mismatch;
          end
        end
        if (prints && first_time) show_row;
      end
    end
  endtask
